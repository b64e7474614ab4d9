"""Contracts: what each family of components must provide, with a safe default for everything else."""
