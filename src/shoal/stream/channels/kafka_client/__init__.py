"""Kafka client for the channel `kafka`."""
