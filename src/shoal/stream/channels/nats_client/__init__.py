"""What a channel needs of NATS JetStream."""
