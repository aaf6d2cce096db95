"""Basic data types, such as scenes, pairs and cost volumes, and rules for stages."""
