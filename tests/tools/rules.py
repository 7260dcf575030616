"""The rules of the tree, as data: who may include whom, which headers are confined, how large a file may be."""

# folder: project folders (or single headers) its files may include besides itself. The longest prefix wins.
ALLOWED = {
    "core/base": [],
    "core/session": ["core/base"],
    "core/ir": ["core/base", "core/session"],
    "core/ops": ["core/base", "core/session", "core/ir"],
    "core/autodiff": ["core/base", "core/session", "core/ir", "core/ops"],
    "core/passes": ["core/base", "core/session", "core/ir", "core/ops"],
    "core/fusion": ["core/base", "core/session", "core/ir", "core/ops", "core/codegen/program.h"],
    "core/codegen": ["core/base", "core/session", "core/ir", "core/ops", "core/fusion"],
    "core/torch_bridge": ["core/base", "core/ir", "core/ops", "core/autodiff", "core/passes"],
    "core/kernel_compiler": ["core/base"],
    "core/runtime": [
        "core/base",
        "core/session",
        "core/ir",
        "core/ops",
        "core/passes",
        "core/fusion",
        "core/codegen",
        "core/torch_bridge",
        "core/kernel_compiler/protocol",
    ],
    "core/capture": [
        "core/base",
        "core/session",
        "core/ir",
        "core/ops",
        "core/autodiff",
        "core/torch_bridge",
        "core/runtime",
    ],
    "core/python": ["core", "profiler"],
    "profiler": ["core/base", "core/session"],
    "views/kit": ["core/base", "core/session"],
    "views": ["core/base", "core/session", "profiler/analysis", "views/kit"],
    "app": ["core", "profiler", "views"],
    "tests": ["core", "profiler", "views", "app"],
}

# pattern of an include -> folders that may have it
CONFINED = {
    r"^(Python\.h|internal/pycore_|frameobject\.h|opcode\.h|structmember\.h)": [
        "core/capture",
        "core/torch_bridge",
        "core/python",
    ],
    r"^(llvm|clang|lld)/": ["core/kernel_compiler"],
    r"^(cuda|nvrtc|cublas|cudnn)": ["core/runtime", "core/codegen/cuda", "tests/gpu"],
    r"^cupti": ["profiler/cupti", "tests/gpu"],
    r"^sqlite3\.h": ["core/session", "tests/unit", "tests/fuzz"],
    r"^Q[A-Z]": ["views", "app", "tests/gui", "tests/fuzz"],
}

# The one file of views/ that names every view.
REGISTRY = "views/registry.cpp"

MAX_LINES = 800
SOURCE_ENDINGS = (".cpp", ".h", ".py")

# What must not stand in the repository: folders of somebody's machine, and trackers' numbers.
FOREIGN_WORDS = [r"(?<![\w.~])/(?:work|root|mnt|Users|home/(?!user/))[/\w]+", r"\bissue #?\d"]
