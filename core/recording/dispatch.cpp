#include "core/recording/dispatch.h"

#include <algorithm>

#include "core/base/once.h"
#include "core/ops/device.h"
#include "core/ops/unlisted.h"
#include "core/recording/fallback.h"
#include "core/recording/lowering_state.h"
#include "core/torch_api/api.h"
#include "core/torch_api/border.h"
#include "core/torch_api/convert.h"
#include "core/torch_api/fake_tensor.h"
#include "core/torch_api/number_range.h"

namespace vitrine::torch_api {

namespace {

// A Python error is set, and means what it says.
struct Raised {};

struct BoundArg {
  PyObject* object = nullptr;  // borrowed
  ir::Arg arg;
  std::vector<int> tensors;  // traced tensors inside, in order
};

// Records one operator.
class OperatorCall {
 public:
  OperatorCall(Recording& recording, const Overload& op, PyObject* args, PyObject* kwargs)
      : recording_(recording), op_(op), args_(args), kwargs_(kwargs) {}

  PyRef run() {
    bind();
    if (op_.data_dependent) return known_number();
    refuse();
    if (op_.lift_fresh && bound_[0].tensors.empty()) return PyRef::borrow(lifted_.get());
    if (op_.lift_fresh) return PyRef::borrow(bound_[0].object);
    if (op_.view) return is_handing_out() ? handed_out() : view();
    if (op_.inplace_view) return reshaped_in_place();
    if (!op_.has_tensor_return() && !op_.writes) return question();
    if (op_.random && draws()) recording_.effects.random = true, ++recording_.effects.draws;
    node_.id = recording_.next_id();
    PyRef out = by_rule();
    if (!out) out = by_pytorch();
    note_writes();
    add_node();
    return out;
  }

 private:
  void bind() {
    const Py_ssize_t given = PyTuple_GET_SIZE(args_);
    bound_.resize(op_.params.size());
    for (size_t i = 0; i < bound_.size(); ++i) {
      PyObject* value = static_cast<Py_ssize_t>(i) < given ? PyTuple_GET_ITEM(args_, i) : nullptr;
      if (!value && kwargs_) value = PyDict_GetItemWithError(kwargs_, op_.params[i].py_name);
      if (value) {
        bound_[i].object = value;
        convert(bound_[i], op_.params[i]);
      } else {
        bound_[i].object = op_.params[i].default_value;
        bound_[i].arg = op_.params[i].default_arg;
        VITRINE_CHECK(bound_[i].object, op_.name + " lacks " + op_.params[i].name);
      }
    }
  }

  void convert(BoundArg& to, const OverloadParam& param) {
    auto arg = to_arg(to.object, [&](PyObject* tensor) -> std::optional<ir::Arg> {
      const int index = traced(tensor);
      if (index < 0) return ir::Arg();
      to.tensors.push_back(index);
      return ir::Arg(recording_.at(index).aten);
    });
    if (!arg) stop("unsupported_value", "argument " + param.name + " of " + op_.name + " cannot be recorded");
    to.arg = std::move(*arg);
    if (param.name == "device" && to.arg.is<ir::Word>() && recording_.as_if())
      to.arg = ir::Arg(ir::Word{recording_.as_if()->text()});
    if (param.name == "device" && to.arg.is<ir::Word>() && !ir::device_from_text(to.arg.as<ir::Word>().text))
      stop("unsupported_value", "a tensor on device " + to.arg.as<ir::Word>().text,
           "Tensors on the CPU and on CUDA GPUs are compiled.");
  }

  // -1: the constant that lift_fresh is about to adopt.
  int traced(PyObject* tensor) {
    const int index = recording_.find(tensor);
    if (index >= 0) return index;
    if (op_.lift_fresh || (PyObject_TypeCheck(tensor, reinterpret_cast<PyTypeObject*>(api().tensor_type)) &&
                           is_scalar(tensor))) {
      const int made = recording_.constant_made_inside(tensor);
      if (!op_.lift_fresh) return made;
      lifted_ = recording_.at(made).object;
      return -1;
    }
    stop("unsupported_value", op_.name + " uses a tensor that is not part of the program");
  }
  // Composite operators turn Python numbers into 0-d tensors without asking the dispatcher.
  static bool is_scalar(PyObject* tensor) {
    const TensorView v = torch_api::view(handle_of(tensor));
    return v.ndim == 0 && v.device_type == 0;
  }

  // aten.item and its like: only a constant's value is known.
  PyRef known_number() {
    for (BoundArg& b : bound_) {
      for (int index : b.tensors) {
        PyRef value = recording_.known_value(index);
        if (!value || bound_.size() != 1)
          stop("scalar_read", op_.name + " reads a tensor's data",
               "Keep the value as a 0-d tensor; .item(), int(), float() and bool() wait for the data.");
        PyRef out = PyRef::steal(PyObject_CallOneArg(op_.object, value.get()));
        if (!out) throw Raised{};
        return out;
      }
    }
    stop("scalar_read", op_.name + " reads data");
  }

  // What has no place in a graph.
  void refuse() {
    if (op_.dynamic_shape && !fixed_shape())
      stop("data_dependent_shape", "the shape of " + op_.name + "'s result depends on data",
           "Use a mask of fixed size instead of nonzero, unique or boolean indexing.");
    if (!op_.aten && op_.returns_other())
      stop("unsupported_operator", op_.name + " returns a value that is no tensor",
           "Return it as a tensor: another value would be the one of capture in every call.");
    if (op_.name == "aten._neg_view.default")
      stop("unsupported_operator", op_.name + " makes a tensor that is negated when it is read");
    if (lacks_freedom())
      stop("warning", op_.name + " warns of degrees of freedom <= 0",
           "Give a correction that is smaller than the number of elements reduced.");
    if (op_.writes && !api().symbols.inference_enabled() && !recording_.inference_mode)
      refuse_inference_writes();
  }

  // A variance of fewer numbers than its correction takes away: PyTorch's kernels warn, whatever they are
  // given.
  bool lacks_freedom() const {
    if (!ops::is(op_.row, ops::kNeedsFreedom)) return false;
    const ir::Dims& sizes = recording_.at(bound_[0].tensors.at(0)).type.sizes;
    const ir::Arg &dims = bound_[1].arg, &correction = bound_[2].arg;
    double reduced = 1;
    const auto list =
        dims.is<std::vector<ir::Arg>>() ? dims.as<std::vector<ir::Arg>>() : std::vector<ir::Arg>();
    for (size_t d = 0; d < sizes.size(); ++d) {
      const auto is_d = [&](const ir::Arg& dim) {
        return dim.as<int64_t>() == static_cast<int64_t>(d) ||
               dim.as<int64_t>() + static_cast<int64_t>(sizes.size()) == static_cast<int64_t>(d);
      };
      if (list.empty() || std::any_of(list.begin(), list.end(), is_d))
        reduced *= static_cast<double>(sizes[d]);
    }
    const bool nothing = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    const double taken = correction.is<int64_t>()  ? static_cast<double>(correction.as<int64_t>())
                         : correction.is<double>() ? correction.as<double>()
                                                   : 1;
    return (nothing ? 0 : reduced) <= taken;
  }

  // Eager raises, but only when it has written.
  void refuse_inference_writes() const {
    for (size_t i = 0; i < bound_.size(); ++i)
      for (int t : bound_[i].tensors)
        if (op_.params[i].written && recording_.storage_of_tensor(t).inference)
          stop("exception", op_.name + " writes to an inference tensor outside inference mode");
  }

  // A number that the element type cannot hold: eager raises, or wraps it before it computes. Sums and
  // products wrap alike whenever that is done.
  void refuse_numbers(const ir::TensorType& out) const {
    ir::DType target = out.dtype;
    for (size_t i = 0; target == ir::DType::b1 && i < bound_.size(); ++i)
      if (!bound_[i].tensors.empty()) target = recording_.at(bound_[i].tensors[0]).type.dtype;
    for (size_t i = 0; i < bound_.size(); ++i) {
      const Number number = number_of(bound_[i]);
      const bool compared = out.dtype == ir::DType::b1 && (ir::is_float(target) || number.is_float());
      if (compared || (!op_.params[i].number && !converts_operands(target)) || number.fits(target)) continue;
      stop("unsupported_value",
           op_.name + " of a number that " + std::string(ir::dtype_torch_name(target)) + " cannot hold");
    }
  }
  Number number_of(const BoundArg& b) const {
    if (b.tensors.size() != 1) return Number(b.arg);
    const PyRef value =
        recording_.at(b.tensors[0]).type.sizes.empty() ? recording_.known_value(b.tensors[0]) : PyRef();
    return value ? Number(constant_arg(value.get()).value_or(ir::Arg())) : Number(ir::Arg());
  }
  // Whether an operand's conversion to the common type can be told from one of the result.
  bool converts_operands(ir::DType target) const {
    if (op_.name.starts_with("aten.where")) return true;
    return ir::is_integer(target) && !ops::is(op_.row, ops::kWrapsAlike);
  }

  // Attention and dropout that are switched off draw nothing.
  bool draws() const {
    for (size_t i = 0; i < bound_.size(); ++i) {
      const std::string& name = op_.params[i].name;
      const ir::Arg& arg = bound_[i].arg;
      if ((name == "dropout_p" || name == "p") && arg.is<double>() && arg.as<double>() == 0) return false;
      if ((name == "train" || name == "training") && arg.is<bool>() && !arg.as<bool>()) return false;
    }
    return true;
  }

  bool fixed_shape() const {
    if (op_.name == "aten.repeat_interleave.Tensor") return !bound_.back().arg.is_none();
    if (op_.name != "aten.index.Tensor") return false;
    return std::none_of(bound_[1].tensors.begin(), bound_[1].tensors.end(), [&](int t) {
      const ir::DType dtype = recording_.at(t).type.dtype;
      return dtype == ir::DType::b1 || dtype == ir::DType::u8;
    });
  }

  PyRef call_pytorch() {
    PyRef out = PyRef::steal(PyObject_Call(op_.object, args_, kwargs_));
    if (!out) throw Raised{};
    return out;
  }

  // PyTorch's factories give the program a copy of the object that they have made, by detaching it: no view.
  bool is_handing_out() const {
    return op_.name == "aten.detach.default" && bound_[0].tensors.size() == 1 &&
           recording_.is_of_a_factory(bound_[0].tensors[0]);
  }
  PyRef handed_out() {
    PyRef out = call_as_cpu();
    recording_.take_over(bound_[0].tensors[0], out.get());
    return out;
  }

  // Kernels of views only look at sizes and strides: PyTorch's own give exactly eager's.
  PyRef view() {
    PyRef out = call_as_cpu();
    node_.id = recording_.next_id();
    adopt(out.get());
    add_node();
    return out;
  }
  // A PyTorch without CUDA has no views of CUDA tensors either, so fake tensors are on the CPU meanwhile.
  PyRef call_as_cpu() {
    std::vector<int> moved;
    for (const BoundArg& b : bound_)
      for (int t : b.tensors)
        if (recording_.at(t).type.device.is_cuda()) moved.push_back(t);
    if (moved.empty()) return call_pytorch();
    const ir::Device device = recording_.at(moved[0]).type.device;
    auto place = [&](ir::Device where) {
      for (int t : moved) place_on(handle_of(recording_.at(t).object.get()), where);
    };
    place({});
    PyRef out = PyRef::steal(PyObject_Call(op_.object, args_, kwargs_));
    place(device);
    if (!out) throw Raised{};
    std::vector<int> path;
    each_leaf(out.get(), path, [&](PyObject* t, const std::vector<int>&) { place_on(handle_of(t), device); });
    return out;
  }
  void adopt(PyObject* value) {
    if (is_tensor(value)) {
      if (recording_.find_exact(value) >= 0) stop("unsupported_operator", op_.name + " returns its argument");
      const int index = recording_.add(PyRef::borrow(value), type_of(value));
      output(index);
    } else if (PyTuple_Check(value) || PyList_Check(value)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
        adopt(PySequence_Fast_GET_ITEM(value, i));
    }
  }

  // t_(), squeeze_(), ...: the tensor object becomes another view of its storage. In the graph that is a view
  // like any other, for which the object stands from now on.
  PyRef reshaped_in_place() {
    std::string name = op_.name == "aten.transpose_.default" ? "aten.transpose_.int" : op_.name;
    if (const size_t at = name.find("_."); at != std::string::npos) name.erase(at, 1);
    const Result<OpCall> functional = find_op(name);
    const Overload* view = functional ? overload_of(functional.value().overload) : nullptr;
    PyErr_Clear();
    if (!view || !view->view || bound_[0].tensors.size() != 1)
      stop("unsupported_operator", op_.name + " changes a tensor's storage or shape");
    const int index = bound_[0].tensors[0];
    if (recording_.storage_of_tensor(index).input)
      stop("unsupported_operator", op_.name + " changes the shape of an input");
    PyRef out = call_as_cpu();
    node_.id = recording_.next_id();
    recording_.set_type(index, type_of(bound_[0].object));
    output(index);
    add_node();
    recording_.aten_nodes().back().op = name;
    return out;
  }

  // An operator that answers about sizes or kernels, not about data (a data access raises).
  PyRef question() {
    if (is_check()) {
      node_.id = recording_.next_id();
      add_node();
      return PyRef::borrow(Py_None);
    }
    if (op_.returns.empty()) stop("unsupported_operator", op_.name + " acts without a result");
    return call_pytorch();
  }

  // Operators that do nothing but raise, depending on data: they stay in the graph, and a call that raises
  // leaves no trace of the segment.
  bool is_check() const { return ops::unlisted::only_raises(op_.name); }

  // Appends to the node's outputs; the tensor is that output from now on.
  void output(int index) {
    const ir::Ref ref{node_.id, static_cast<int32_t>(node_.outputs.size())};
    node_.outputs.push_back(recording_.at(index).type);
    outputs_.emplace_back(index, ref);
  }
  PyRef fresh(const ir::TensorType& type) {
    if (type.dtype == ir::DType::other)
      stop("unsupported_value", op_.name + " gives an unsupported element type");
    const int index = recording_.fresh(type);
    output(index);
    return recording_.at(index).object;
  }

  ops::ShapeArg shape_arg(const ir::Arg& arg, const std::vector<int>& tensors, size_t& next) const {
    ops::ShapeArg out;
    if (arg.is<ir::Ref>()) {
      out.tensor = &recording_.at(tensors[next++]).type;
      return out;
    }
    out.constant = &arg;
    if (arg.is<std::vector<ir::Arg>>() && !tensors.empty()) {
      for (const ir::Arg& a : arg.as<std::vector<ir::Arg>>()) out.list.push_back(shape_arg(a, tensors, next));
    }
    return out;
  }

  // Rules say nothing of tensors on several devices. Element-wise operators are compiled with such operands,
  // of which PyTorch takes some; what is written into memory may come from anywhere.
  bool refuses_devices() const {
    std::optional<ir::Device> first;
    bool mixed = false;
    for (const BoundArg& b : bound_)
      for (int t : b.tensors) {
        const ir::Device device = recording_.at(t).type.device;
        mixed = mixed || (first && *first != device);
        first = device;
      }
    if (!mixed || (op_.row->family == ops::Family::memory && op_.writes)) return false;
    if (op_.row->family != ops::Family::pointwise) return true;
    if (!take_together(op_, fallback_args())) throw Raised{};
    return false;
  }
  std::vector<FallbackArg> fallback_args() const {
    std::vector<FallbackArg> args;
    for (const BoundArg& b : bound_) {
      FallbackArg a{b.object, {}};
      for (int t : b.tensors) a.tensors.push_back(&recording_.at(t).type);
      args.push_back(std::move(a));
    }
    return args;
  }

  // Null: no rule, or a call that the rule does not cover (eager may reject it).
  PyRef by_rule() {
    if (!op_.row || !op_.row->shape || writes_overlap() || refuses_devices()) return PyRef();
    ops::ShapeCall call;
    call.default_dtype = ir::dtype_from_scalar_type(api().symbols.default_dtype());
    call.args.reserve(bound_.size());
    for (const BoundArg& b : bound_) {
      size_t next = 0;
      call.args.push_back(shape_arg(b.arg, b.tensors, next));
    }
    Result<std::vector<ir::TensorType>> types = ops::types_of(*op_.row, call);
    if (!types) return PyRef();
    if (!types.value().empty()) refuse_numbers(types.value()[0]);
    return results(types.value());
  }

  // An expanded tensor cannot be written: PyTorch says so best.
  bool writes_overlap() const {
    for (size_t i = 0; op_.writes && i < bound_.size(); ++i) {
      if (!op_.params[i].written) continue;
      for (int t : bound_[i].tensors) {
        const ir::TensorType& type = recording_.at(t).type;
        for (size_t d = 0; d < type.sizes.size(); ++d)
          if (type.strides[d] == 0 && type.sizes[d] > 1) return true;
      }
    }
    return false;
  }

  PyRef results(const std::vector<ir::TensorType>& types) {
    if (op_.returns.size() == 1 && op_.returns[0].kind == ReturnKind::tensor_list) {
      PyRef list = PyRef::steal(PyList_New(0));
      for (const ir::TensorType& t : types) PyList_Append(list.get(), fresh(t).get());
      return list;
    }
    if (types.size() != op_.returns.size()) return PyRef();
    for (size_t i = 0; i < types.size(); ++i)
      if (op_.returns[i].same_as >= 0 && !fits(op_.returns[i].same_as, types[i])) return PyRef();
    std::vector<PyRef> made;
    for (size_t i = 0; i < types.size(); ++i)
      made.push_back(op_.returns[i].same_as >= 0 ? written_argument(op_.returns[i].same_as)
                                                 : fresh(types[i]));
    return packed(made);
  }
  static PyRef packed(const std::vector<PyRef>& made) {
    if (made.size() == 1) return made[0];
    PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(made.size())));
    for (size_t i = 0; i < made.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyRef(made[i]).release());
    return tuple;
  }
  bool fits(int param, const ir::TensorType& type) const {
    const BoundArg& b = bound_[static_cast<size_t>(param)];
    return b.tensors.size() == 1 && recording_.at(b.tensors[0]).type.sizes == type.sizes &&
           recording_.at(b.tensors[0]).type.dtype == type.dtype;
  }
  PyRef written_argument(int param) {
    const BoundArg& b = bound_[static_cast<size_t>(param)];
    for (int t : b.tensors) output(t);
    return PyRef::borrow(b.object);
  }

  PyRef by_pytorch() {
    const FallbackResult ran = run_for_types(op_, fallback_args());
    const PyRef& result = ran.value;
    if (!result) throw Raised{};
    meta_device_ = ran.device;
    if (ran.resized) stop("unsupported_operator", op_.name + " changes the size of its output");
    if (ran.aliased) stop("unsupported_operator", op_.name + " returns memory of its argument");
    if (op_.returns.size() <= 1) return mirrored(result.get(), 0);
    std::vector<PyRef> made;
    for (size_t i = 0; i < op_.returns.size(); ++i)
      made.push_back(mirrored(PySequence_Fast_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i)), i));
    return packed(made);
  }
  static bool is_strided(PyObject* tensor) {
    const uint64_t known[] = {api().plain_keys, api().inference_keys, api().cuda_keys,
                              api().cuda_inference_keys};
    return std::find(std::begin(known), std::end(known), dispatch_keys(handle_of(tensor))) != std::end(known);
  }

  // The same value with fake tensors for its tensors.
  PyRef mirrored(PyObject* value, size_t which) {
    if (which < op_.returns.size() && op_.returns[which].same_as >= 0)
      return written_argument(op_.returns[which].same_as);
    if (is_tensor(value)) {
      if (!meta_device_ && !is_strided(value))
        stop("unsupported_operator", op_.name + " makes a tensor of another layout");
      ir::TensorType type = type_of(value);
      if (meta_device_) type.device = *meta_device_;
      return fresh(type);
    }
    if (PyList_Check(value)) {
      PyRef list = PyRef::steal(PyList_New(0));
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); ++i)
        PyList_Append(list.get(), mirrored(PyList_GET_ITEM(value, i), which).get());
      return list;
    }
    if (value == Py_None && which < op_.returns.size() && op_.returns[which].kind == ReturnKind::tensor)
      node_.outputs.push_back(ir::TensorType::contiguous(ir::DType::f32, {0}));  // an undefined tensor
    return PyRef::borrow(value);
  }

  void note_writes() {
    for (size_t i = 0; i < bound_.size(); ++i) {
      if (!op_.params[i].written) continue;
      for (int t : bound_[i].tensors) recording_.mark_written(t);
    }
    if (op_.hidden_write_flag < 0) return;
    const ir::Arg& flag = bound_[static_cast<size_t>(op_.hidden_write_flag)].arg;
    if (!flag.is<bool>() || !flag.as<bool>()) return;
    for (int i : op_.hidden_writes)
      for (int t : bound_[static_cast<size_t>(i)].tensors) recording_.mark_written(t);
  }

  // What autograd makes of the call: nothing while gradients are off. They are, too, below the node that a
  // library's operator has by its registered backward; where the program has them off, no result requires
  // one.
  void follow() {
    if (!api().symbols.grad_enabled() && op_.aten) return;
    std::vector<bool> flags;
    bool any = false;
    for (const bool keyword_only : {false, true})
      for (size_t i = 0; i < bound_.size(); ++i) {
        if (op_.params[i].keyword_only != keyword_only) continue;
        for (int t : bound_[i].tensors) {
          flags.push_back(requires_grad(recording_.at(t).object.get()));
          any = any || flags.back();
        }
      }
    if (any) recording_.follow(node_.id, std::move(flags));
  }

  // An operator of which no row says what it gives: PyTorch made its results for fake tensors of these sizes.
  bool is_known_new() const {
    if (op_.writes || !op_.aten || ops::find(op_.name)) return false;
    std::vector<int> given, made;
    for (const BoundArg& arg : bound_) given.insert(given.end(), arg.tensors.begin(), arg.tensors.end());
    for (const auto& [index, ref] : outputs_) made.push_back(index);
    return !recording_.share_memory(made, given);
  }

  void add_node() {
    node_.op = op_.name;
    node_.reads_only = !op_.aten && !op_.writes;
    node_.makes_new = (node_.reads_only && !op_.view) || is_known_new();
    follow();
    for (size_t i = 0; i < bound_.size(); ++i) {
      if (!op_.params[i].keyword_only)
        node_.args.push_back(std::move(bound_[i].arg));
      else if (!bound_[i].arg.is_none())
        node_.kwargs.emplace_back(op_.params[i].name, std::move(bound_[i].arg));
    }
    for (const auto& [index, ref] : outputs_) recording_.set_aten(index, ref);
    recording_.add_aten(std::move(node_));
  }

  Recording& recording_;
  const Overload& op_;
  PyObject *args_, *kwargs_;
  std::vector<BoundArg> bound_;
  std::vector<std::pair<int, ir::Ref>> outputs_;
  ir::Node node_;
  PyRef lifted_;
  std::optional<ir::Device> meta_device_;
};

struct Mode {
  PyObject_HEAD DispatchState* state;
};

// What only computes with a conjugated tensor may have it in memory of its own. A backward pass does no more
// than that. Elsewhere the recording sees to it that nobody can tell.
PyRef conjugated(DispatchState& state, PyObject* args, PyObject* kwargs) {
  const Result<OpCall> physical = find_op("aten.conj_physical.default");
  const Overload* op = physical ? overload_of(physical.value().overload) : nullptr;
  if (!op) throw Raised{};
  Recording& r = state.recording;
  const int of = state.in_backward ? -1 : r.find(PyTuple_GET_ITEM(args, 0));
  if (of >= 0 && r.at(of).type.numel() != extent(r.at(of).type))
    stop("unsupported_operator", "aten._conj.default of a tensor with gaps");
  PyRef out = OperatorCall(r, *op, args, kwargs).run();
  if (of >= 0) r.note_conjugated(r.find(out.get()), of);
  return out;
}

// Autograd's keys take composite operators apart on their way here, except in inference mode, where nothing
// stands before this mode: there the operator's own kernel does, under the mode again.
PyObject* taken_apart(PyObject* mode, const Overload& op, PyObject* args, PyObject* kwargs) {
  const ModeGuard again(mode);
  return again.active() ? PyObject_Call(op.composite, args, kwargs) : nullptr;
}

PyObject* answer(PyObject* mode, PyObject* func, PyObject* args, PyObject* kwargs) {
  DispatchState& state = *reinterpret_cast<Mode*>(mode)->state;
  if (state.answer) return std::exchange(state.answer, PyRef()).release();
  if (state.stopped) return PyErr_Format(PyExc_RuntimeError, "%s", state.stopped->reason.c_str());
  try {
    const Overload* op = overload_of(func);
    if (!op) return nullptr;
    if (op->composite && api().symbols.inference_enabled()) return taken_apart(mode, *op, args, kwargs);
    if (op->name == "aten._conj.default") return conjugated(state, args, kwargs).release();
    return OperatorCall(state.recording, *op, args, kwargs).run().release();
  } catch (const Raised&) {
    return nullptr;
  } catch (const Stop& reason) {
    state.stopped = reason.why;
  } catch (const std::exception& error) {
    state.stopped = Unsupported{"unsupported_operator", error.what(), ""};
  }
  PyErr_SetString(PyExc_RuntimeError, state.stopped->reason.c_str());
  return nullptr;
}

// __torch_dispatch__(func, types, args=(), kwargs=None)
PyObject* torch_dispatch(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count < 2)
    return PyErr_Format(PyExc_TypeError, "__torch_dispatch__ takes an operator and its arguments");
  PyObject* positional = count > 2 ? args[2] : nullptr;
  PyObject* kwargs = count > 3 && args[3] != Py_None ? args[3] : nullptr;
  PyRef empty = positional ? PyRef() : PyRef::steal(PyTuple_New(0));
  return answer(self, args[0], positional ? positional : empty.get(), kwargs);
}

PyMethodDef kModeMethods[] = {
    {"__torch_dispatch__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(border<torch_dispatch>)),
     METH_FASTCALL, "Records one operator."},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject* mode_type() {
  static constinit Once<PyTypeObject*> kept;
  return kept.get([] {
    static PyType_Slot slots[] = {{Py_tp_methods, kModeMethods}, {0, nullptr}};
    static PyType_Spec spec = {"vitrine._engine.RecordingMode", sizeof(Mode), 0, Py_TPFLAGS_DEFAULT, slots};
    return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  });
}

}  // namespace

PyObject* new_mode(DispatchState* state) {
  PyTypeObject* type = mode_type();
  auto* mode = type ? reinterpret_cast<Mode*>(type->tp_alloc(type, 0)) : nullptr;
  if (mode) mode->state = state;
  return reinterpret_cast<PyObject*>(mode);
}

}  // namespace vitrine::torch_api
