"""The benchmark: the paper's tables and figures, under its own protocol and under a clean one."""
