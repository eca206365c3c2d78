"""The paper's tables and figures, checked under its own protocol and under clean ones."""
