"""Client of Kafka for the channel `kafka`."""
