"""The paper, reproduced: its simulations run with this engine, each result beside the published one."""
