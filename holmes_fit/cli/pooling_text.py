"""What ``holmes-fit pool`` and ``holmes-fit compare`` say of chains."""


def unchanged(what: list[str]) -> str:
    """Say that nothing was sampled again."""
    return f"Not sampled again, as nothing has changed: {', '.join(what)}."


def not_converged(what: list[str], draws: int) -> str:
    """Say what to do when chains have not converged."""
    return (
        f"Not converged: {', '.join(what)}. Do not report these numbers. Take more draws: --preset careful, or a TOML "
        f'file with base = "default", [pooling] and draws = {2 * draws}, whose path is given to --preset.'
    )
