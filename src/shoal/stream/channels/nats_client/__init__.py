"""NATS JetStream client for the channel `nats`."""
