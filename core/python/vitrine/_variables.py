"""Variables of the environment that Vitrine reads. The guide's page of configuration is made of this table."""

VARIABLES = {
    "VITRINE_TRACE": "`FILE.vitrine`: what a plain script compiles is recorded there; `%p` in the name becomes the process's number, `%r` its rank",
    "VITRINE_LOGS": "names with commas between: what compilation tells on stderr; `help` lists them",
    "VITRINE_LOGS_OUT": "a file that logs are added to, in place of stderr",
    "VITRINE_CACHE_DIR": "where compiled kernels and reproducers go, as `vitrine.config.cache_dir`; empty: nowhere",
    "VITRINE_PYTHON": "the Python that `vitrine run` and the window start",
    "VITRINE_TORCH": "of `vitrine-run`: the folder of PyTorch's libraries, for a package that calls PyTorch",
    "VITRINE_OPT_BISECT": "`12,-1,-1`: how many rewrites, fusions and kernels are applied; -1: all",
    "VITRINE_OPT_BISECT_LOG": "a file that gets what of these was applied",
    "VITRINE_BUILD_DIR": "of `./vitrine` in the sources: another folder for the build",
    "TORCH_COMPILE_DISABLE": "1 switches compilation off, as for `torch.compile`",
    "TORCHDYNAMO_DISABLE": "the same",
    "XDG_CACHE_HOME": "where the cache folder lies, unless `VITRINE_CACHE_DIR` is set",
    "XDG_STATE_HOME": "where Vitrine remembers which sessions and kernels are this user's",
}
