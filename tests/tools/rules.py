"""The rules of the tree, as data: who may include whom, which headers are confined, how large a file may be."""

GRAPHS = ["core/base", "core/ir", "core/ops"]
FUSED = ["core/base", "core/ir", "core/ops", "core/fusion"]
CAPTURE_BELOW = ["core/capture/objects", "core/capture/cpython", "core/capture/concrete"]
TRACED = ["core/torch_api", "core/recording", "core/autograd"]
RECORDED = ["core/base", "core/session"]
WINDOW = [*RECORDED, "views", "app/jobs"]
INTERPRETED = ["core/base", "core/ir", "core/ops", "core/autodiff", *TRACED, "core/capture/*", "core/capture/objects", "core/capture/cpython"]

# folder: project folders (or single headers) its files may include besides itself. The longest prefix wins.
ALLOWED = {
    "core/base": [],
    "core/session": ["core/base"],
    "core/ir": ["core/base", "core/session"],
    "core/ops": ["core/base", "core/session", "core/ir"],
    "core/autodiff": ["core/base", "core/session", "core/ir", "core/ops", "core/passes"],
    # What passes are written with; the passes, by what they are for.
    "core/passes/rewrite": [*GRAPHS],
    "core/passes/cleanup": [*GRAPHS, "core/passes/rewrite"],
    "core/passes/decompose": [*GRAPHS, "core/passes/rewrite", "core/passes/cleanup"],
    "core/passes/layout": [*GRAPHS, "core/passes/rewrite"],
    "core/passes/attention": [*GRAPHS, "core/passes/rewrite", "core/passes/decompose"],
    "core/passes/library_calls": [*GRAPHS, "core/passes/rewrite", "core/passes/decompose"],
    "core/fusion": ["core/base", "core/session", "core/ir", "core/ops", "core/codegen/schedule/program.h"],
    "core/codegen": ["core/base", "core/session", "core/ir", "core/ops", "core/fusion"],
    # The table of all that is done between the ATen graph and a program, and what runs it.
    "core/pipeline": [*GRAPHS, "core/session", "core/passes", "core/fusion", "core/codegen"],
    # PyTorch through its exported functions; calls of its kernels without Python; what is of its CUDA alone.
    "core/torch_api": ["core/base", "core/ir", "core/ops"],
    "core/torch_api/library": ["core/base", "core/ir", "core/ops", "core/torch_api"],
    "core/torch_api/cuda": ["core/base", "core/ir", "core/torch_api"],
    # Torch calls on storage-less tensors, written down as ATen graphs; their derivatives.
    "core/recording": ["core/base", "core/ir", "core/ops", "core/passes", "core/torch_api"],
    "core/autograd": ["core/base", "core/ir", "core/ops", "core/passes", "core/autodiff", "core/recording", "core/torch_api"],
    "core/kernel_compiler": ["core/base"],
    "core/runtime": [
        "core/base",
        "core/session",
        "core/ir",
        "core/ops",
        "core/passes",
        "core/pipeline",
        "core/fusion",
        "core/codegen",
        "core/torch_api",
        "core/recording",
        "core/kernel_compiler/protocol",
    ],
    # Models that have left Python. It runs where neither Python nor PyTorch is.
    "core/package": ["core/base", "core/ir", "core/codegen", "core/runtime/kernels", "core/runtime/cuda/driver.h"],
    # The rooms of capture, from the bottom up. The folder itself holds the frame hook and the frame loop.
    "core/capture/objects": ["core/base", "core/ir", "core/torch_api"],
    "core/capture/cpython": ["core/base", "core/capture/objects"],
    "core/capture/concrete": ["core/base", "core/capture/cpython", "core/capture/objects"],
    "core/capture": ["core/base", "core/torch_api", *CAPTURE_BELOW],
    "core/capture/trace": ["core/base", "core/ir", *TRACED, "core/capture/objects"],
    "core/capture/guards": [*INTERPRETED, "core/capture/trace"],
    # Values, and what a tracer holds of them, know nothing of what Python does with them.
    "core/capture/interpreter/state": ["core/base", "core/ir", *TRACED, "core/capture/objects", "core/capture/cpython", "core/capture/trace"],
    # The other folders are one room: an operation of a type may be a call, a call runs instructions or PyTorch's functions,
    # and these do whatever types do. An arrow between them would be a table of hooks, which hides who calls whom.
    "core/capture/interpreter": [*INTERPRETED, "core/capture/trace", "core/capture/guards", "core/capture/interpreter/state"],
    "core/capture/segment": [*INTERPRETED, "core/session", "core/runtime", "core/capture/concrete", "core/capture/trace", "core/capture/guards", "core/capture/interpreter"],
    "core/python": ["core", "profiler"],
    "profiler": ["core/base", "core/session"],
    # What views are made with, from the bottom up: words and numbers; colours and lines; a session as views see it; the
    # one selection; small widgets; tables; code. The folder itself holds what a view is.
    "views/kit/layout": [],
    "views/kit/text": ["core/base"],
    "views/kit/painting": ["core/base", "views/kit/text"],
    "views/kit/session": [*RECORDED, "views/kit/text"],
    "views/kit/selection": [*RECORDED, "views/kit/text", "views/kit/painting", "views/kit/session"],
    "views/kit/widgets": [*RECORDED, "views/kit/text", "views/kit/painting"],
    "views/kit/tables": [*RECORDED, "views/kit/text", "views/kit/painting", "views/kit/selection", "views/kit/widgets"],
    "views/kit/code": [*RECORDED, "views/kit/text", "views/kit/painting", "views/kit/selection", "views/kit/widgets"],
    "views/kit": [*RECORDED, "views/kit"],
    "views": ["core/base", "core/session", "profiler/analysis", "views/kit"],
    # The window, from the bottom up: the open session; rows above and below the panes; panes and docks; runs of the
    # engine; commands and what is typed; the first page. The folder itself puts them together.
    "app/jobs": ["views/kit/selection"],
    "app/bridge": [*RECORDED],
    "app/shell/document": [*WINDOW],
    "app/shell/bars": [*WINDOW, "app/shell/document"],
    "app/shell/panes": [*WINDOW, "app/shell/document", "app/shell/bars"],
    "app/shell/compare": [*WINDOW, "app/shell/document", "app/shell/panes"],
    "app/shell/run": [*WINDOW, "app/shell/document", "app/bridge"],
    "app/shell/commands": [*WINDOW, "app/shell/document", "app/shell/panes/layouts.h"],
    "app/shell/welcome": [*WINDOW, "app/shell/document"],
    "app/shell": [*WINDOW, "app/bridge", "app/importing", "app/shell"],
    "app/importing": [*RECORDED, "core/package/description.h"],
    "app/cli": [*RECORDED, "app/importing", "profiler/analysis", "app/bridge/python_module.h", "app/cli", "views/kit/layout"],
    "app": ["core", "profiler", "views", "app"],
    "tests": ["core", "profiler", "views", "app"],
}

# pattern of an include -> folders that may have it
CONFINED = {
    r"^(Python\.h|internal/pycore_|frameobject\.h|opcode\.h|structmember\.h)": [
        "core/capture",
        "core/torch_api",
        "core/recording",
        "core/autograd",
        "core/python",
    ],
    r"^(llvm|clang|lld)/": ["core/kernel_compiler"],
    r"^(cuda|nvrtc|cublas|cudnn)": ["core/runtime", "core/codegen/cuda", "tests/gpu"],
    r"^cupti": ["profiler/cupti", "tests/gpu"],
    r"^sqlite3\.h": ["core/session", "app/importing/nsys.cpp", "tests/unit", "tests/fuzz"],
    r"^Q[A-Z]": ["views", "app", "tests/gui", "tests/fuzz"],
}

# The one file of views/ that names every view.
REGISTRY = "views/registry.cpp"

MAX_LINES = 800
SOURCE_ENDINGS = (".cpp", ".h", ".py")

# What ruff reads, by the rules of pyproject.toml.
PYTHON_FOLDERS = ["core/python", "docs", "tests", "samples"]

# What must not stand in the repository: folders of somebody's machine, and trackers' numbers.
FOREIGN_WORDS = [r"(?<![\w.~])/(?:work|root|mnt|Users|home/(?!user/))[/\w]+", r"\bissue #?\d"]

# Lines between a function's braces, tables in it not counted. A function that is longer stands below with its lines,
# which may only shrink; several of one name, the longest first.
MAX_FUNCTION_LINES = 60
LONG_FUNCTIONS = {}

# Files a folder, without and with headers. A folder of more stands below with its files, which may only become fewer.
MAX_SOURCES, MAX_FILES = 25, 50
LARGE_FOLDERS = {}

# C++ reaches Python by the table core/torch_api/python_name_rows.h. Who else imports a module or looks one up, and why.
NO_KNOWN_NAME = "the program gives the name"
IMPORTS_BY_NAME = {
    "core/torch_api/python_names.cpp": "reads the table",
    "core/torch_api/replaced.cpp": "has a table of its own: the modules in which PyTorch's functions find one another",
    "core/capture/concrete/call.cpp": NO_KNOWN_NAME,
    "core/capture/guards/lifeline.cpp": NO_KNOWN_NAME,
    "core/capture/interpreter/machine/run_flow.cpp": NO_KNOWN_NAME,
    "core/capture/objects/torch_names.cpp": NO_KNOWN_NAME,
}

# Where a name of a class, struct, union, enum or alias in a namespace has one meaning, and the names that stand in
# several places all the same, with the reason.
TYPE_FOLDERS = ["core", "views", "app", "profiler"]
DIALECTS = "one thing in the two dialects of a kernel's text, core/codegen/cpp and core/codegen/cuda"
SHARED_TYPE_NAMES = {
    "Across": DIALECTS,
    "Emitter": DIALECTS,
    "HorizontalText": DIALECTS,
    "LoadText": DIALECTS,
    "Printer": DIALECTS,
}

# Documents for people: how long a sentence (in words) and a paragraph (in sentences) may be outside of code and tables.
PROSE = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "docs/*.md", "docs/guide/*.md"]
# Pages that are made of the code when the guide is built.
MADE_PAGES = ["docs/guide/api.md", "docs/guide/configuration.md"]
MAX_SENTENCE_WORDS = 30
MAX_PARAGRAPH_SENTENCES = 5
# Those that do not hold yet. One that does is taken off the list: a test sees to it.
LONG_WINDED = []

# Where a document's short paths begin, beside the root of the tree.
PATHS_BEGIN = {"docs/ENGINE.md": "core/capture", "docs/CAPTURE.md": "core/capture", "docs/AUTOGRAD.md": "core/capture/interpreter/library", "docs/VIEWS.md": "views"}
