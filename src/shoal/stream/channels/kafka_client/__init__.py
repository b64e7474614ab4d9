"""What a channel needs of Kafka."""
