// The symbolic interpreter of one segment. Its methods are grouped by file: values, attributes, operators,
// calls, iteration, torch calls, native methods, builtins, control, and the recipes at the end. A method that
// cannot go on throws BreakSignal (the segment ends before the outermost frame's current instruction) or
// RaiseSignal.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/capture/cpython/bytecode.h"
#include "core/capture/cpython/frame.h"
#include "core/capture/interpreter/input_memory.h"
#include "core/capture/interpreter/signals.h"
#include "core/capture/interpreter/value.h"
#include "core/capture/trace/break_kinds.h"
#include "core/capture/trace/trace.h"
#include "core/recording/lowering.h"

namespace vitrine::capture {

bool is_numpy_number(PyObject* o);         // numpy.float64(2.5): immutable, compared by type and value
bool is_numpy_function(PyObject* o);       // numpy.sqrt, numpy.prod
PyObject* without_numpy(PyObject* owned);  // such a number as Python's; anything else as it is

struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value*>> keyword;
  Value* find(const std::string& name) const {
    for (const auto& [key, value] : keyword)
      if (key == name) return value;
    return nullptr;
  }
};

// One Python frame being interpreted: the live one (outermost) or an inlined call.
struct VirtualFrame {
  PyCodeObject* code = nullptr;
  const Bytecode* bytecode = nullptr;
  PyObject* globals = nullptr;
  PyObject* builtins = nullptr;
  const Source* globals_owner = nullptr;  // nullptr: the outermost frame's function
  Values locals, stack;
  int position = 0;           // index of the next instruction
  Value* keywords = nullptr;  // pending KW_NAMES
  Values closure;             // copied by COPY_FREE_VARS
  VirtualFrame* caller = nullptr;
  bool running = false;      // generators: resumed right now
  int64_t began = 0;         // generators: instructions of the outermost frame before the first resumption
  bool gave_locals = false;  // locals() was called
  int32_t step = -1;         // number of the instruction that runs now, when steps are recorded
  std::string module;        // "encoder.layer.0": the nn.Module whose forward this is
};

using BytecodeCache = std::unordered_map<PyCodeObject*, std::unique_ptr<Bytecode>>;
struct GlobalWrite {
  std::string key;
  const Source* owner = nullptr;
  std::string name;
};

// What a functools.lru_cache did not hold: its dict, and the key.
using NotCached = std::vector<std::pair<Owned, Owned>>;
struct CacheHit {
  PyObject* function;
  size_t positional;  // so many of the objects
  Values objects;
  Arguments arguments;
};

// How deep a walk through what objects hold has gone: one that contains itself has no end.
class Nested {
 public:
  explicit Nested(int& depth) : depth_(depth) {
    constexpr int kDeepest = 500;
    if (depth_ >= kDeepest)
      stop("limit", "an object that holds others very deep, or itself", "Pass the inner object by itself.");
    ++depth_;
  }
  ~Nested() { --depth_; }
  Nested(const Nested&) = delete;

 private:
  int& depth_;
};

enum class Flow : uint8_t { Next, Jumped, Return, Yield };

Py_hash_t hash_told(PyObject* number);          // keys.cpp
Value* handled_now(const VirtualFrame& frame);  // exception_chain.cpp

// What a value is to NumPy; Scalar: a number that is known when the program runs.
enum class ArrayKind : uint8_t { None, Array, Scalar };

// So many items are taken for an iterator without end.
constexpr size_t kEndless = 1'000'000;

// Why a segment ends where a tensor's text is looked at.
constexpr const char* kTensorInText = "a tensor is turned into text: its values are read";

class Tracer {
 public:
  // stop_at: how many instructions of the outermost frame to interpret; -1 = as many as possible.
  Tracer(Frame& frame, const TraceOptions& options, int64_t stop_at, BytecodeCache& bytecodes);
  ~Tracer();
  // Interprets. true: it reached RETURN (value in result_) or stop_at; false: broke() says why.
  bool run();
  const BreakInfo& broke() const { return broke_; }
  // Ends where the interpretation stands, for this reason: with its place and its kind's advice.
  const BreakInfo& broke_for(const BreakInfo& info) { return break_at(info), broke_; }
  int64_t executed() const { return executed_; }  // instructions of the outermost frame, completed
  // Where the segment may end at the latest: before the instruction whose exception the outermost frame is
  // handling now (its traceback and the exception state are CPython's to make), -1 = anywhere.
  // And before it gave the outermost frame's locals: whatever runs for real afterwards may ask for them, too.
  int64_t latest_end() const {
    return locals_since_ < 0 || (handling_since_ >= 0 && handling_since_ < locals_since_) ? handling_since_
                                                                                          : locals_since_;
  }
  // Where what needs gradients begins behind the last update of a tensor that requires grad; -1: there is
  // none. No graph has both: autograd must see what tensors hold when it begins.
  int64_t gradients_begin() const { return gradients_begin_; }
  bool has_checkpoints() const { return checkpoints_ > 0; }
  void end_before_locals() {
    if (current_ == &root_) locals_since_ = executed_;
  }
  const Frame& live() const { return live_; }
  // A backward pass with create_graph stopped it, or one that goes to a tensor made in it.
  bool differentiates_again = false;
  bool answers_is_compiling() const { return !options_.as_eager; }
  bool asked_is_compiling = false;     // the program asked, and took its way for compilers
  bool broke_in_higher_order = false;  // in an operator that takes functions, which PyTorch would compile
  // How many instructions of the outermost frame the trace may have at most; -1: what was found does not
  // say.
  int64_t ends_by = -1;
  // The trace so far, ending here. Throws BreakSignal when a value cannot be rebuilt.
  std::unique_ptr<Trace> finish(bool returned);
  void find_gradients(const std::vector<PyObject*>& results, Trace& trace);
  // The trace's joint graph, or why there is none.
  void find_joint(const std::vector<PyObject*>& results, Trace& trace);
  // Of a trace with a backward pass in its graph: which of its results autograd has done with.
  void find_consumed(const std::vector<PyObject*>& results, Trace& trace);
  void finish_frame(bool returned, class RecipeMaker& make, Trace& trace);
  std::vector<Effect> global_effects(class RecipeMaker& make);
  void finish_effects(bool returned, class RecipeMaker& make, Trace& trace);
  void finish_graph(class RecipeMaker& make, Trace& trace);
  // No progress: the trace says only why, and under which guards that holds.
  std::unique_ptr<Trace> give_up(BreakInfo why);
  bool returned() const { return result_ != nullptr; }
  bool for_absent_gpu() const { return options_.as_if.has_value(); }  // --target, where there is none

  // --- values.cpp: making values
  PyObject* keep(PyObject* owned);
  Value* make(Kind kind);
  Value* constant(PyObject* borrowed);
  Value* fold(PyObject* owned);  // result of a C API call; raises what it raised
  Value* none() { return constant(Py_None); }
  Value* boolean(bool b) { return constant(b ? Py_True : Py_False); }
  Value* integer(int64_t n);
  Value* text(const std::string& s);
  Value* sequence(Kind kind, Values items, PyTypeObject* cls = nullptr);
  Value* tuple(Values items) { return sequence(Kind::Tuple, std::move(items)); }
  Value* list(Values items) { return sequence(Kind::List, std::move(items)); }
  Value* lazy(PyObject* borrowed, const Source* source, bool pinned = false);
  Value* pinned(PyObject* borrowed);  // an object whose identity needs no guard
  // --- materialise.cpp: looking at them
  Value* look(Value* v);     // inspects: guards, and gives the one value of that object
  Value* resolve(Value* v);  // follows aliases without inspecting
  // --- value_questions.cpp
  PyTypeObject* type_of(Value* v);   // guards the type only
  PyObject* const_object(Value* v);  // object of a Constant, nullptr for anything else
  int64_t int_of(Value* v, const char* what);
  bool is_none(Value* v);
  std::string describe(Value* v);  // for people: "f32[8,128]", "3", "list of 4"
  // A real Python object equal to v, from constants only (deep); nullptr when v holds anything else.
  PyObject* constant_tree(Value* v);
  void pin_type(PyTypeObject* type);  // guards that the class does not change

  // --- symbols.cpp: ints that may be others in the next call
  Value* symbolic(Value* v);  // v as such an int, looked at no further; nullptr: it is none
  Value* peek(Value* v);      // look(), but such an int stays open
  bool dynamic() const;       // whether there are any
  Value* symbol_value(const ir::Sym& sym);
  Value* symbolic_binary(const std::string& op, Value* a, Value* b);  // nullptr: not as a symbol
  Value* symbolic_compare(int op, Value* a, Value* b);                // the same
  PyObject* symbol_object(Value* v);                                  // new reference
  PyObject* hints_of(Value* v);                                       // new reference
  void settle(Value* v);                                              // fixes every such int in it
  void fix_all_sizes();
  Value* fact(PyObject* callable, PyObject* args);
  std::string asked_at();

  // --- floats.cpp: the same of floats
  Value* symbolic_float(Value* v);  // nullptr: it is none
  void specialise_float(Value* v);
  Value* computed_float(PyObject* now, Value* tensor, const Values& from, PyObject* parts);
  Value* float_binary(const std::string& name, bool in_place, Value* a, Value* b);
  Value* float_beside_tensor(const std::string& comparison, Value* a, Value* b);
  Value* float_negated(Value* a);

  // --- derived_floats.cpp
  Value* pythons_float(PyObject* function, const Values& arguments);
  Value* derived_float(PyObject* function, const Values& arguments);
  PyObject* derived_parts(PyObject* function, const Values& arguments);
  const Source* derived_source(Value* root, PyObject* parts);
  bool enter_derived_float(Value* v);
  Value* float_compare(int op, Value* a, Value* b);
  const Source* source_of_float(const Value* v);
  Value* size_float_compare(int op, Value* a, Value* b);

  // --- size_floats.cpp
  Value* size_float(PyObject* function, const Values& arguments);
  Value* float_of_size(Value* size);
  Value* size_integer(const std::string& function, Value* number);
  Value* quotient_integer(const std::string& function, Value* number);
  Owned size_float_parts(Value* v);
  Value* asked_integer(const std::string& function, Value* number);
  Value* asked_symbol(PyObject* function, PyObject* args, const std::string& text);
  Value* integer_of_sizes(PyObject* function, const Values& arguments);
  bool enter_size_float(Value* v);
  void fix_size_float(Value* v);
  std::string size_float_text(Value* v);
  bool is_not_zero(Value* v);
  Value* with_symbolic_floats(Value* self, const std::string& name, PyObject* callable, const Arguments& a);

  // --- rng.cpp
  Value* draw(Value* generator, const std::string& method, const Arguments& arguments);
  void refuse_to_look(const Value* drawn);

  // --- guards
  void guard(GuardKind kind, const Source* source, PyObject* object = nullptr, int64_t number = 0,
             const std::string& name = "", const Source* other = nullptr, const std::string& expected = "");
  // That it is this object, without keeping it: what no recipe holds may die with the program's own.
  void guard_weakly(const Source* source, PyObject* object, const std::string& expected);
  void guard_length(Value* v);
  void guard_length_before(const Value* v, size_t n);  // of what stood in it when the segment began
  void guard_type(Value* v);

  // --- dict_entries.cpp, keys.cpp
  Value* new_dict(PyTypeObject* cls = nullptr);
  PyObject* key_object(Value* key);         // what a real dict would hash; breaks on values without one
  bool same_key(PyObject* a, PyObject* b);  // of what key_object() gave
  void check_own_keys(bool from_before, const Values& keys, Value* key);
  Value* dict_get(Value* dict, Value* key);  // nullptr = absent
  Value* dict_get(Value* dict, const char* key) { return dict_get(dict, text(key)); }
  void dict_set(Value* dict, Value* key, Value* value);
  void dict_put(Value* dict, PyObject* key_object, Value* key, Value* value);  // no object is told
  bool dict_remove(Value* dict, Value* key);
  void dict_clear(Value* dict);
  void dict_complete(Value* dict);  // loads and guards all entries
  Value* dict_key(Value* dict, PyObject* key, int32_t place);
  std::vector<std::pair<Value*, Value*>> dict_entries(Value* dict);
  void dict_update(Value* dict, Value* other);
  int64_t length(Value* v);  // of what it holds
  Value* len(Value* v);      // len(v): what its class says
  // --- set.cpp
  void set_insert(Value* set, Value* item);
  void set_insert_all(Value* set, Value* more);     // set.update(more)
  Value* take_from_set(Value* set, PyObject* key);  // the item that it held; nullptr: none is equal
  void set_clear(Value* set);
  void note_set_change(Value* set, uint64_t before, const char* method, PyObject* argument);
  PyObject* real_set(Value* set, PyObject* items);
  PyObject* copy_of_set(Value* set);
  void check_order_known() const;
  PyObject* how_set_was_made(Value* set);
  Value* set_made_here(Value* set);  // its items in their order; nullptr: it is not known
  void touch(Value* v);              // it is about to change

  // --- attributes.cpp
  Value* get_attr(Value* v, const std::string& name);   // nullptr = AttributeError
  Value* load_attr(Value* v, const std::string& name);  // raises AttributeError
  void set_attr(Value* v, const std::string& name, Value* value);
  void del_attr(Value* v, const std::string& name);
  void generic_del(Value* v, const std::string& name);  // object.__delattr__
  Value* thread_local_get(Value* v, const std::string& name, PyObject* descriptor, bool fallback);
  Value* generic_get(Value* v, const std::string& name,
                     bool fallback);  // object.__getattribute__ (+ __getattr__)
  void generic_set(Value* v, const std::string& name, Value* value);  // object.__setattr__
  Value* ask_getattr(Value* v, const std::string& name);
  void check_plain_attributes(Value* v, const char* method);
  Value* instance_get(Value* v, const std::string& name);            // own attribute, nullptr = none
  Value* instance_dict(Value* v);                                    // v.__dict__
  void write_attr(Value* v, const std::string& name, Value* value);  // past all methods; nullptr deletes
  Value* known_own_dict(Value* v);
  void check_own_dict(Value* v);
  void enter_own(Value* v, const std::string& name, Value* value);
  std::string own_name(Value* owner, PyObject* key);
  Value* bind_descriptor(PyObject* descriptor, Value* self, PyTypeObject* type, const std::string& name);
  Value* module_member(Value* v, const std::string& name);  // nn.Module.__getattr__
  // The function that `type` gives for a special method when it is Python code, else nullptr.
  PyObject* python_method(PyTypeObject* type, const char* name);
  Value* call_special(Value* v, PyObject* function, Values arguments);

  // --- exception_chain.cpp
  void set_context(Value* raised);
  void chain_context(Value* raised, Value* handled);  // nullptr: nothing that is known
  void set_cause(Value* raised, Value* cause);
  Value* chain_attr(Value* v, const std::string& name);
  bool set_chain_attr(Value* v, const std::string& name, Value* value);

  // --- operators.cpp
  Value* binary(const std::string& op, Value* a, Value* b);  // "add", "iadd", ...: names of module operator
  // v.name(arguments...) where v is an object whose class says so in Python; nullptr: it does not.
  Value* own_method(Value* v, const char* name, Values arguments = {});
  Value* unary(const std::string& op, Value* a);
  Value* compare(int op, Value* a, Value* b);  // Py_LT ...
  bool same(Value* a, Value* b);               // a is b
  bool equal(Value* a, Value* b);              // a == b where it is a plain bool
  PyObject* known_object(Value* v);            // the object itself, which is guarded; borrowed
  bool same_or_equal(Value* candidate, Value* item);
  int64_t checked_length(Value* v, PyObject* method);
  bool contains(Value* container, Value* item);
  bool truth(Value* v, const char* where = "data_dependent_branch");
  Value* get_item(Value* v, Value* key);
  Value* get_held_item(Value* v, Value* key);  // past a __getitem__ of its class
  void set_item(Value* v, Value* key, Value* value);
  void del_item(Value* v, Value* key);
  Value* format(Value* v, Value* spec, int conversion);
  std::string str_of(Value* v, bool repr);
  Value* checked_text(Value* v, PyObject* method, Values arguments);
  Value* format_text(PyObject* form, const Arguments& arguments);  // text_format.cpp: form.format(...)
  // symbolic_text.cpp. nullptr: the value is read at once, or refused.
  Value* symbolic_text(Value* v, Value* spec);
  Value* joined_text(const Values& parts);

  // --- symbolic_lists.cpp. nullptr: no such list, or something asks for what stands in it.
  Value* symbolic_list(Value* v);
  Value* method_of_symbolic_list(Value* v, const std::string& name);
  Value* add_to_symbolic_list(PyObject* method, const Arguments& a);
  Value* extend_symbolic_list(Value* list, Value* by);

  // --- calls.cpp
  Value* call(Value* function, Arguments arguments);
  Value* call_known_object(PyObject* function, Arguments& arguments);
  // What statically_known_true and statically_known_false are given of a comparison: they add no guard.
  // nullptr: it is another function, or no comparison of sizes that may change.
  Value* compared_without_guard(Value* function, int op, Value* a, Value* b);
  // What they say of a comparison that was made before, when its guard was not there yet. nullptr: the same.
  Value* known_before_its_guard(PyObject* function, const Arguments& a);
  void stop_at_disallowed(PyObject* function, const Arguments& a);
  FunctionState function_state(Value* function);
  Value* call_function(Value* function, Arguments arguments);  // a PyFunction constant, or Function
  bool made_anew(const Value* v) const;
  Value* call_anew(Value* function, Arguments arguments);
  Value* inline_code(PyCodeObject* code, PyObject* globals, const Source* globals_owner, Values bound,
                     Values closure, const std::string& module = "");
  [[noreturn]] void raise_unbound(PyCodeObject* code, const std::string& name, Value* defaults,
                                  Value* kwdefaults, const Arguments& arguments);
  Values bind(PyCodeObject* code, const std::string& name, Value* defaults, Value* kwdefaults,
              const Arguments& arguments);
  Value* construct(PyTypeObject* cls, Arguments arguments);
  Value* construct_plain(PyTypeObject* cls, Arguments arguments);  // past the metaclass's __call__
  // --- flex_attention.cpp
  Value* flex_attention(const Arguments& arguments);
  Value* get_item_at_places(Value* tensor, Value* key);
  // --- speculated_branches.cpp
  bool branches(VirtualFrame& frame, const Instruction& in, Value* v, bool jumps_if);
  bool speculate(Value* tensor, bool expected);
  bool may_check(const ir::TensorType& type) const;  // whether a graph can check such a tensor
  void check(Value* holds, const char* message);     // of one bool; message: what it raises, or nullptr
  // --- vmap.cpp
  Value* vmap(const Arguments& arguments);  // of torch._functorch.vmap.vmap_impl
  // Gives what it returned.
  Value* run_once_without_effects(Value* function, const Arguments& sample, const std::string& what);
  Value* call_without_effects(Value* function, const Arguments& sample, const std::string& what,
                              bool may_draw);
  Value* itself(Value* object);
  Value* function_in_parts(Value* function);
  bool lend(Value* v);
  void take_back(size_t first);
  // --- hooks.cpp
  Value* register_hook(Value* tensor, const Arguments& arguments);
  // --- checkpoints.cpp
  Value* call_checkpointed(Value* function, const Arguments& arguments, bool reentrant, bool keeps_random);
  // --- lifetimes.cpp
  void let_go(VirtualFrame& frame, Value* v);  // a local or stack entry holds it no more
  void check_taken(const Values& items);
  void note_change(Value* v);                                 // before something existing changes
  void check_overwritten(Value* v, const std::string& name);  // before an attribute is set or deleted
  void check_replaced(PyObject* before, const Source* source, const std::string& name);  // of a global
  void check_let_go(Value* v);  // at the end, of a container that has changed
  void check_alone();
  bool held_elsewhere(const Source* source);
  Value* weak_target(Value* reference);
  // --- cached_calls.cpp
  Value* call_cached(Value* function, Arguments arguments);  // functools.lru_cache
  bool cache_arguments(const Arguments& arguments, Values* objects);
  void note_cached_call(Value* function, const Arguments& arguments, Values objects);
  Value* cached_result(Value* function, const Arguments& arguments);
  std::vector<Effect> cache_effects(class RecipeMaker& make);
  // Of the break: what no cache held, and what was computed in vain.
  NotCached take_not_cached() { return std::move(not_cached_); }
  void guard_not_cached(const NotCached& keys);
  void check_cached_read(PyObject* read);
  void check_cached_write(Value* v);  // nullptr: a global
  // differentiation.cpp
  Value* differentiate(const std::string& name, const char* runner, Value* function, Value* arguments,
                       Value* keywords, const Values& options);
  void check_not_differentiated(const char* question);
  void check_pure_read(const Value* v);
  void check_pure_global(const std::string& key);
  Value* apply_function(PyObject* builtin, const Arguments& arguments);  // own_backward.cpp
  Value* call_module(Value* v, Arguments arguments);
  Arguments spread(Value* positional, Value* keyword);  // f(*a, **k)

  // --- iterate.cpp
  Value* iter(Value* v);
  // nullptr = exhausted; `returned` (may be null) receives what came with StopIteration.
  Value* next(Value* iterator, Value** returned = nullptr);
  Values unpack(Value* v);  // all that it gives
  Values listed(Value* v);  // list(v)
  // Each item that an iterator still gives, used before the next is asked for: what makes the items may look
  // at what is made of them meanwhile, or raise.
  template <class Use>
  void for_rest_of(Value* iterator, Use use) {
    for (size_t n = 1; Value* item = next(iterator); ++n) {
      use(item);
      if (n > kEndless)
        stop("limit", "an iterator without end", "Bound it, with itertools.islice() or zip().");
    }
  }
  Values rest_of(Value* iterator);
  Value* begin_listing(Value* v);
  void extend_list(Value* list, Value* by);
  Value* new_iterator(IteratorKind kind, Values children);
  int& covered() { return covered_; }
  // --- enter.cpp
  Values items_before(Value* v);  // what stands in a tuple, a list or a deque from before
  const Values& mutated() const { return mutated_; }
  // --- real_iterators.cpp
  void count_step(Value* v);
  Value* set_in_order(Value* set);
  Value* generator_method(Value* generator, const std::string& name, const Arguments& a);  // nullptr: other
  Value* generator_of(Value* v);  // the Generator that v is or walks, or nullptr
  void check_generators();
  [[noreturn]] void raise_stop_iteration(Value* returned);
  Value* throw_into(Value* generator, Value* exception, Value** returned = nullptr);
  Value* throw_below(VirtualFrame& frame, RaiseSignal& signal);
  // nullptr = finished; `returned` (may be null) receives what its return gave.
  Value* resume(Value* generator, Value* sent, Value** returned = nullptr);

  // --- torch_calls.cpp
  bool is_tensor(Value* v) { return v->kind == Kind::Tensor; }
  bool has_tensor(Value* v);  // deep
  Value* torch_call(const std::string& name, PyObject* callable, const Arguments& arguments);
  PyObject* to_python(
      Value* v);  // new reference: fake tensors in place of tensors; breaks on what torch cannot take
  Value* from_python(PyObject* o);  // result of a torch call
  Value* tensor_attr(Value* v, const std::string& name);
  Value* tensor_method(Value* self, const std::string& name, PyObject* callable, Arguments arguments);
  // What a method of a tensor that reads its value (item, __index__, ...) gives, where the value is known at
  // capture; nullptr: it is not.
  Value* known_number(Value* tensor, const char* method = "item");
  bool is_torch_leaf(PyObject* callable, std::string* name);
  Value* literal(PyObject* maker, const Arguments& arguments);  // torch.tensor([1, 2])
  bool grad_mode() const;
  bool inference_mode() const;
  void record_grad_mode(bool on);
  // --- inference_mode.cpp
  Value* begin_inference(bool on);  // what must be given back to end it
  void end_inference(Value* context);
  Value* is_inference(Value* tensor);
  void mark_view_of_normal(Value* v);
  void check_view_of_normal(const Value* v);
  Recipe inference_result(Value* v, Recipe graph_result, class RecipeMaker& make);
  std::vector<Effect> grad_mode_effects(class RecipeMaker& make);
  void change_grad_mode(bool on);
  // --- default_devices.cpp
  bool in_default_device() const;  // `with torch.device(...)` began in the segment and has not ended
  std::pair<Value*, Value*> enter_default_device(Value* device);
  Value* leave_default_device(PyObject* function);
  void give_default_device(PyObject* function, Arguments& arguments);
  void check_under_default_device(PyObject* function);
  std::vector<Effect> default_device_effects(class RecipeMaker& make);
  // --- warning_filters.cpp
  void note_changed_filters();
  bool ignores_warning(Value* message, Value* category);
  std::vector<Effect> warning_filter_effects(class RecipeMaker& make);
  Value* state_call(const char* path, const Arguments& arguments);  // of autocast, of attention
  std::vector<Effect> autocast_effects(class RecipeMaker& make);
  std::vector<Effect> attention_effects(class RecipeMaker& make);
  // --- leaves.cpp
  Value* set_requires_grad(Value* tensor, bool on);  // gives the tensor
  Value* new_parameter(const Arguments& arguments);
  Value* data_of(Value* tensor);
  void set_data(Value* tensor, Value* value);
  Value* autograd_fact(Value* tensor, const std::string& name);  // is_leaf, grad_fn
  std::vector<Effect> version_effects(class RecipeMaker& make);
  void set_tensor_attr(Value* tensor, const std::string& name, Value* value);
  // --- optimizers.cpp
  Value* read_grad(Value* v);
  void write_grad(Value* v, Value* value);
  Value* scaled_by_tensor(Value* self, const std::string& name, const Arguments& a);  // nullptr: it is not
  // --- backward.cpp
  Value* tensor_backward(const Arguments& a);
  Values leaves_behind(const std::string& name, const Values& outputs, const Values& tangents);
  void guard_leaf(const std::string& name, Value* leaf);
  Value* gradients(const std::string& name, const Values& outputs, const Values& tangents,
                   const Values& inputs, const std::vector<bool>& fresh, bool retain);
  void accumulate(const std::string& name, const Values& outputs, const Values& tangents, bool retain);
  Value* enter_tensor(Value* v);  // a real tensor becomes a graph input

  // --- numpy_values.cpp
  Value* call_numpy(PyObject* callable, const Arguments& arguments);         // nullptr: other
  Value* numpy_operator(const std::string& name, PyObject* a, PyObject* b);  // nullptr: no number of NumPy's
  // --- arrays.cpp
  ArrayKind array_kind(Value* v);
  Value* make_array(Value* tensor, bool scalar);
  bool enter_array(Value* v);
  void check_arrays_unwritten();
  Value* call_on_arrays(PyObject* function, const Arguments& arguments);
  Value* tensor_of_array(const std::string& name, const Arguments& arguments);
  Value* array_of_tensor(Value* tensor, Arguments arguments);

  // --- methods.cpp, builtins.cpp
  Value* call_method(Value* self, const std::string& name, const Arguments& arguments);  // of a builtin type
  Value* call_builtin(PyObject* callable, const Arguments& arguments, bool* known);
  void check_accepted(PyObject* callable, size_t positional, const Arguments& arguments);

  // --- interpret.cpp
  Value* execute(VirtualFrame& frame, bool* yielded = nullptr);  // until it returns or yields
  const Bytecode* bytecode_of(PyCodeObject* code);
  // --- bound_slots.cpp
  void guard_bound(const VirtualFrame& frame, int slot);  // the program asks whether a local has a value
  void guard_empty_stack();
  std::vector<Guard> take_guards();
  // --- aliasing.cpp
  void guard_apart(bool storages, std::vector<const Source*> changed, std::vector<const Source*> others);
  void guard_aliases();
  void guard_storages();
  void refuse_long_recurrence(const std::string& name, const Arguments& a, size_t operators);
  void note_updates();  // behind each call
  void check_storages();
  void note_memory(Value* input);
  void check_storage_of(const Value* v);
  VirtualFrame& frame() { return *current_; }
  void enter_handler(VirtualFrame& f);
  void leave_handler(VirtualFrame& f);
  // worded: CPython's exception says exactly this, and has it as its argument.
  [[noreturn]] void raise(PyObject* type, const std::string& text, bool worded = false);
  [[noreturn]] void raise_from(Value* cause, const std::string& message);  // a RuntimeError
  [[noreturn]] void raise_python();                                        // the Python error that is set
  SourcePool& sources() { return *sources_; }
  const Source* constant_source(PyObject* object);
  torch_api::Lowering& lowering() { return *lowering_; }
  ir::Origin origin();
  std::string place(const VirtualFrame& frame, int* line);

  // Shadows of names, by globals dict.
  const Source* global_source(const VirtualFrame& frame, const std::string& name);
  Value* load_global(VirtualFrame& frame, const std::string& name);
  void store_global(VirtualFrame& frame, const std::string& name, Value* value);
  void store_global(PyObject* globals, const Source* owner, const std::string& name, Value* value);
  Value* written_global(PyObject* globals, const std::string& name);
  Value* cell_get(Value* cell);
  void cell_set(Value* cell, Value* value);

 private:
  friend class RecipeMaker;
  PyObject* own_key(Value* key);
  void check_own_keys(Value* dict, Value* key);
  void open_integer(Value* v);
  void open_sizes(Value* v, PyObject* real, ir::NodeKind kind);
  std::optional<Symbolic::Origin> size_origin(const SizeMark& mark, const SizeHistory::Change& change,
                                              int64_t size, ir::NodeKind kind) const;
  bool is_static_member(const Source* source) const;
  void join_group(int32_t symbol, const std::string& group);
  std::string sizes_text(const Values& dims, const ir::TensorType& type);
  Value* open_fact(Value* tensor, const char* method, int64_t d);
  Value* dimension(Value* tensor, int64_t d);
  Values dimensions(Value* tensor);
  Value* size_question(Value* tensor, const std::string& name, const Arguments& a);
  void forget_sizes(const std::string& call);
  bool dispatch_raise(VirtualFrame& frame, const Instruction& instruction, const RaiseSignal& signal);
  void materialise(Value* v);
  void same_object(Value* v, Value* first);
  void materialise_container(Value* v);
  void specialise_list(Value* v);
  void materialise_mapping_proxy(Value* v);
  void materialise_iterator(Value* v);
  void materialise_cell(Value* v);

  // --- film.cpp
  struct Before {
    Values stack, locals;
  };
  struct Change {
    int pop = 0;
    Values push;
    std::vector<std::pair<std::string, Value*>> store;
    Value* result = nullptr;
  };
  using NodeNames = std::unordered_map<ir::NodeId, std::string>;
  Before begin_step(VirtualFrame& frame, const Instruction& instruction, bool entered);
  void end_step(VirtualFrame& frame, const Instruction& instruction, const Before& before);
  void film_inlined(PyCodeObject* code);
  void film_returned(VirtualFrame& frame, Value* value);
  std::string film_text(Value* v, const NodeNames& names);
  std::string film_value(Value* v, const NodeNames& names);
  std::vector<StepRecord> film(const ir::Graph* captured, const std::vector<Guard>& guards);

  void break_at(const BreakInfo& info);

  Frame& live_;
  TraceOptions options_;
  int64_t stop_at_, executed_ = 0, instructions_ = 0, torch_calls_ = 0;
  int64_t handling_since_ = -1, locals_since_ = -1;
  int64_t gradients_begin_ = -1, updates_ = 0, differentiable_ = 0;  // note_updates()
  int handlers_ = 0;  // entered (PUSH_EXC_INFO) and not left (POP_EXCEPT) since then
  VirtualFrame root_;
  VirtualFrame* current_ = nullptr;
  int depth_ = 0;
  int nesting_ = 0;  // of walks through what objects hold
  Value* result_ = nullptr;
  RaiseSignal attribute_error_;  // what a __getattr__ raised that gave no value
  BreakInfo broke_;
  Values initial_locals_, initial_stack_;
  std::shared_ptr<SourcePool> sources_;
  std::unique_ptr<torch_api::Lowering> lowering_;
  std::shared_ptr<Symbolic> symbolic_;
  std::unordered_map<Value*, Values> sizes_;  // of tensors, where they are known
  Values open_inputs_;                        // tensors whose strides may be any
  std::vector<std::unique_ptr<Value>> values_;
  std::vector<PyObject*> alive_;
  std::unordered_map<PyObject*, Value*> by_object_;  // real objects with identity, once inspected
  std::unordered_map<PyObject*, Value*> by_tensor_;  // fake tensors
  std::unordered_map<std::string, Value*> globals_;  // "address:name"
  std::vector<GlobalWrite> global_writes_;
  std::unordered_set<std::string> guard_keys_;
  std::unordered_set<PyTypeObject*> pinned_types_;
  std::unordered_set<const Value*> guarded_comparisons_;  // of sizes: only their guards tell the answers
  std::unordered_map<const Value*, int64_t>
      noticed_;                           // containers of what has a finalizer: executed_ at a change
  Values alone_;                          // what has a finalizer, and only the stack held it
  std::unordered_set<PyObject*> let_go_;  // what locals held when the segment began, and do not hold now
  std::vector<Value*> anew_;              // functions that were called by what they do, whichever they are
  bool cells_written_ = false;            // of closures that existed before
  int64_t pure_since_ = -1;               // >= 0: what was made before is not to be changed now
  struct Lent {
    Value* dict;
    std::vector<std::pair<Value*, Value*>> entries;  // as they were
    bool mutated;
  };
  std::vector<Lent> lent_;       // dicts that what is read through has changed so far
  bool lends_ = false;           // what is read through may change dicts for a while
  bool differentiated_ = false;  // what runs is only read through: PyTorch runs it under autograd
  int64_t cached_since_ = -1;    // >= 0: a cached function runs, which has made the values from here on
  std::vector<CacheHit> cache_hits_;
  Values computed_;  // floats that sizes give, which the graph has for inputs
  std::vector<std::pair<const Value*, int64_t>> draws_;  // and after how many instructions each was drawn
  NotCached not_cached_;
  struct OwnKey {
    Value* value;
    Py_hash_t hash;
    PyObject* fake_tensor;
  };
  std::vector<OwnKey> own_keys_;  // objects that were keys, hashed and compared by methods of their own
  std::vector<Guard> guards_;
  std::vector<const Source*> inputs_;
  InputMemory input_memory_;
  std::vector<std::shared_ptr<VirtualFrame>> frames_;  // inlined calls that run
  Values generators_;                                  // made in the segment
  Values mutated_;                                     // pre-existing values in order of their first change
  std::vector<PyObject*> codes_;
  std::unordered_set<std::string> asked_;  // names of attributes
  std::vector<StepRecord> steps_;
  std::vector<Change> changes_;  // of the stack, by step
  std::unordered_set<PyCodeObject*> seen_codes_;
  BytecodeCache& bytecodes_;
  int covered_ = 0;            // > 0: what is asked now is asked again when a real enumerate() is advanced
  bool sets_in_order_ = true;  // those that this instruction has made real so far
  bool grad_at_start_ = false, grad_now_ = false;
  bool inference_at_start_ = false, inference_now_ = false;
  struct OpenInference {
    Value* context;
    bool on, grad_before, inference_before;
  };
  Values unversioned_;                         // inputs whose .data was asked for: writes there do not count
  std::vector<OpenInference> open_inference_;  // entered in the segment and not left, outermost first
  std::vector<PyObject*> default_devices_;     // the same
  bool filters_changed_ = false;               // those of warnings
  bool differentiates_ = false;                // a backward pass is in the graph
  bool at_places_ = false;                     // what flex_attention is given is read through
  bool speculated_ = false;                    // the graph has a check of a branch that raises
  bool behind_writes_ = false;                 // such a check behind a write to an input
  bool has_arrays_ = false;                    // real arrays of NumPy's entered
  ir::Checkpoint checkpoint_;                  // the outermost one that runs now
  int32_t checkpoints_ = 0;                    // how many there are in the graph
  torch_api::AutocastState autocast_at_start_;
  torch_api::AttentionChoice attention_at_start_;
};

}  // namespace vitrine::capture
