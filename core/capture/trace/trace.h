// What capture of one segment yields: guards, graphs, how to rebuild what the frame holds afterwards, what to
// replay, and how the segment ends. Made by core/capture/trace/ (symbolic interpreter), used by
// core/capture/segment/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/autograd/gradient_wishes.h"
#include "core/capture/trace/prepared_states.h"
#include "core/capture/trace/sizes.h"
#include "core/capture/trace/source.h"
#include "core/recording/lowering.h"

struct _object;

namespace vitrine::torch_api {
struct Joint;  // core/autograd/joint.h
}  // namespace vitrine::torch_api

namespace vitrine::capture {

inline constexpr int64_t kWeakKey = 2;  // added to the number of DictContains

// One condition under which a trace may be used again. `object` is owned by the trace (strong or weak as the
// kind says).
enum class GuardKind : uint8_t {
  TensorMatch,  // exact type, dtype, device, sizes, strides, requires_grad, dispatch keys of the tensor seen
                // at capture
  ConstEquals,  // same type and equal (ints, floats bit by bit, str, bytes, None, bool, tuples of these,
                // torch.dtype/device/Size)
  Compares,     // a float: whether `value <op> object`, or the float of `other`; number: 2 * op (Py_LT ...) +
                // the answer
  Bound,        // a local, a stack slot or a cell holds a value (number 1) or none (0)
  Identity,     // is `object` (kept alive)
  // Is what the weak reference `object` refers to: the program may let it go.
  WeakIdentity,
  TypeIs,         // type(value) is `object`
  Length,         // len(value) == number
  LengthAtLeast,  // len(value) >= number
  LengthBelow,    // len(value) < number
  DictKeys,  // list(value) == `object` (tuple of keys, in order): each key the same object, or as ConstEquals
  DictContains,  // key `object` is in the dict (number 1) or is not (0); the dict's own lookup, no
                 // __missing__. With kWeakKey in `number` the key is what the weak reference `object` refers
                 // to
  SetEquals,     // same type, and equal to `object` (a frozenset made at capture)
  HasAttr,       // `name` found on the object itself or its type, or absent: number = 1 or 0
  InstanceHas,   // `name` is a key of the object's own __dict__ (number 1) or is not (0; also: it has no
                 // __dict__)
  TypeVersion,   // value is a class whose tp_version_tag is still `number` (valid): no attribute of it or of
                 // its bases was changed since capture. `object` is the class
  AbcRegistry,   // no class was registered with an abstract one since capture; number: abc.get_cache_token()
  NotInGlobals,  // `name` is not in the globals of the function `source` (nullptr: of the frame's function),
                 // so that the builtin is found
  FunctionCode,  // value.__code__ is `object`
  PlainLeaf,     // a tensor that autograd did not make, without hooks
  NoFinalizer,   // what the object holds under `name`, or the container in it (""), or with number 1 it
                 // itself, runs nothing when it dies
  NoHooks,       // an nn.Module without forward/backward hooks, instance or global
  IterPosition,  // a list/tuple/range iterator on the stack: same sequence object's position == number
  DifferentObject,  // two sources give different objects (`other`)
  // The first `number` of `members` are no other member's object (`name` "identity"), or share memory with no
  // other member ("storage"). `source` is the first member.
  Apart,
  SameObject,   // two sources give the same object (`other`)
  GlobalState,  // torch's process-wide state equals that of capture
};

struct Guard {
  GuardKind kind;
  const Source* source = nullptr;  // nullptr for GlobalState
  const Source* other = nullptr;
  _object* object = nullptr;  // owned reference
  int64_t number = 0;
  std::string name;
  std::vector<const Source*> members;  // Apart
  std::vector<bool> free_sizes;        // TensorMatch, by dim: may be any size. Then strides may be any, too
  bool heeds_marks =
      false;             // TensorMatch: also that the sizes are symbols where the tensor's marks ask for it
  std::string expected;  // for people: "f32[8,128]", "== 3", "same object"
  int32_t step = -1;     // capture step that needed it
};

// Said by a check that stands for a branch of the program which only raises.
inline constexpr const char* kSpeculated = "vitrine: the program takes the way that raises";

int64_t abc_registrations();  // abc.get_cache_token(): how often a class was registered with an abstract one

std::string_view guard_kind_name(GuardKind kind);  // "TensorMatch"

// How to make a value after the graph has run. A tree; `shared` gives equal identity to nodes with the same
// number >= 0.
struct Recipe {
  enum class Kind : uint8_t {
    Null,      // an empty stack slot (PUSH_NULL) or unbound local
    Graph,     // index: result of the graph
    Source,    // the object that `source` gave before the segment ran
    Constant,  // `object`
    Integer,   // index: of Trace::symbolic->integers
    Tuple,
    List,
    Set,
    FrozenSet,  // children
    Dict,       // children: key, value, key, value ...
    Slice,      // 3 children
    Call,  // children[0](*children[1:]): type constructors without effects (range, torch.Size, namedtuple,
           // object.__new__)
    Function,  // a closure made in the segment: children: code, globals, name, defaults, kwdefaults, closure
               // tuple, annotations
    Cell,      // 1 child: contents, Null = empty
    BoundMethod,  // 2 children: function, self
    Iterator,     // iter(children[0]) advanced by `index`
  };
  Kind kind = Kind::Null;
  int32_t index = -1, shared = -1;
  const Source* source = nullptr;
  _object* object = nullptr;  // owned
  std::vector<Recipe> children;
};

// A visible change to an object that existed before the segment (or was made in it and escapes), in program
// order.
struct Effect {
  enum class Kind : uint8_t {
    SetAttr,
    DelAttr,
    SetItem,
    DelItem,
    ListReplace,
    ListExtend,
    DictReplace,
    SetReplace,
    SetCell,
    SetGlobal,        // name in the globals of the function `target` (Null: of the frame's function)
    AdvanceIterator,  // target: next() is called value.index times
    Call,  // `value` is made (a Call recipe) and dropped: object.__setattr__(x, "n", v) past a custom
           // setter, torch._C._set_grad_enabled(False)
  };
  Kind kind;
  Recipe target, key, value;
  std::string name;
  // SetAttr of .grad, and the program set it to None before it computed anything: the old gradient's memory
  // is free for what it computes.
  bool frees_first = false;
};

struct BreakInfo {
  // An instruction that was being interpreted.
  struct At {
    std::shared_ptr<_object> code;
    int32_t pc = 0;
  };
  std::string kind, reason, hint;  // kind: a row of break_kinds.h
  std::vector<std::pair<std::string, int>> stack =
      {};                   // user's frames inside inlined calls: "file:line function", innermost first
  std::vector<At> at = {};  // the same frames
  // Whether it stands in a block in which the program wants no break; nothing: in none that is captured.
  std::optional<bool> is_error;
};

// One interpreted instruction, for the film. Filled only when recording.
struct StepRecord {
  _object* code = nullptr;  // borrowed from the trace's code list
  int32_t pc = 0, depth = 0;
  std::string event, text, effect_json;
  ir::NodeId node = -1;
  int32_t guard = -1;
};

struct Trace {
  enum class End : uint8_t {
    Return,
    Break,
    Nothing
  };  // Nothing: no graph and no progress: run this pc eagerly from now on
  End end = End::Nothing;
  int32_t end_pc = 0;              // Break: instruction index that must run for real, in bytes
  std::optional<BreakInfo> broke;  // Break, and Nothing when there was a reason
  bool fills_caches = false;       // it broke in a call that a functools cache answers from the next time on
  std::shared_ptr<SourcePool> sources;
  std::vector<Guard> guards;
  torch_api::Lowering::Graphs graphs;  // graphs.captured is null when no torch call was recorded
  torch_api::Lowering::Effects graph_effects;
  std::shared_ptr<Symbolic> symbolic;  // null: sizes are fixed
  std::vector<const Source*> inputs;   // by order of the graph's inputs; each is guarded by TensorMatch
  Recipe result;                       // Return
  std::vector<std::pair<int32_t, Recipe>> locals;  // Break: localsplus slots that changed
  std::vector<Recipe> stack;                       // Break: whole value stack at end_pc, bottom first
  std::vector<Recipe> computed;  // of integers: floats that are inputs of the graph (SourceKind::Computed)
  std::vector<Effect> effects;   // replayed in order, after the graph, before locals and stack are committed
  PreparedStates prepared;       // kept by the first run that succeeds
  bool needs_grad = false;       // grad mode is on and an input requires grad
  std::optional<ir::Device> as_if;  // as of TraceOptions, also where it is recorded for other sizes
  std::string target;
  // Then: its forward and backward, or why there is none and it runs by Replayer.
  std::shared_ptr<const torch_api::Joint> joint;
  std::string no_joint;
  torch_api::Lowering::Views views = torch_api::Lowering::Views::given;  // how it is finished
  torch_api::GradientWishes gradients;                                   // who was asked for the derivative
  // A backward pass is in the graph itself, which runs without autograd; then by result of the graph: whether
  // it requires grad, its backward done.
  bool differentiates = false;
  std::vector<bool> consumed;
  // What a check of the graph raises that the program is taken to pass: kSpeculated.
  bool speculates = false;
  // Sizes in it stand for those of a run, which depend on data. It runs in pieces (fx_graph.h), and what it
  // was concluded from is checked behind that.
  bool stands_in = false;
  std::shared_ptr<ir::SymbolTable> shown;  // of the symbols that its graphs then have for these sizes
  bool is_piece = false;  // of the code of such a graph: where it ends is no break of the program
  std::vector<StepRecord> steps;
  std::vector<std::string_view> retries;  // why the program was interpreted once more, each time: names
  std::vector<_object*> codes;            // owned: code objects met (frame's first), for recording
  std::unordered_set<std::string> asked;  // the names of attributes that objects were asked for
  ~Trace();                               // releases references; needs the GIL
  Trace() = default;
  Trace(const Trace&) = delete;
};

class Frame;  // core/capture/cpython/frame.h: a live CPython frame
struct TraceOptions {
  bool record_steps = false;
  bool fullgraph = false;
  std::optional<ir::Device> as_if;  // every tensor is taken to be there
  std::string target;               // ... a GPU of this architecture ("sm_90")
  torch_api::GradientWishes gradients;
  DynamicMode dynamic = DynamicMode::Never;
  bool ints_vary = true, floats_vary = true;  // that ints and floats may be symbols
  bool marks_bind = true;                     // fixing a size that is marked dynamic is an error
  bool data_shapes = true;                    // with stands_in: sizes of results that depend on data
  bool reads_ints = true;                     // with stands_in: ints that a tensor holds, too
  bool reads_floats = false;                  // floats that a tensor holds are values of the graph
  SizeHistory* sizes = nullptr;               // of the place; nullptr: no size is a symbol
  std::string backward_for_real;              // why no backward pass is to be part of a graph; empty: it may
  std::string checkpoints_for_real;   // why the call of torch.utils.checkpoint is eager's; empty: it is not
  bool differentiated_again = false;  // the code behind it differentiates within it, or twice
  bool knows_frame = true;            // a frame of PyTorch's own may be read as Vitrine writes it
  bool as_eager = false;              // programs are not told that they are compiled
  bool speculates = true;             // that branches which only raise are not taken
  bool stands_in = false;             // that sizes may stand for those of a run, which depend on data
  bool is_piece = false;              // of a graph with such sizes: what it finds on the stack has them
  bool checks_behind_writes = true;   // a graph that fails at such a check writes nothing
  bool checks_on_gpu = true;          // a graph may wait for a GPU to check what it has computed
  int32_t max_instructions = 2'000'000;  // per trace: a runaway loop becomes a break
};

// Interprets symbolically from the frame's current instruction, without any side effect on real objects.
// Throws MarkError.
std::unique_ptr<Trace> trace(Frame& frame, const TraceOptions& options);

}  // namespace vitrine::capture
