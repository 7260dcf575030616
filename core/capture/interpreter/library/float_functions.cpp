// Functions of PyTorch that take a number: given a symbolic float, they are computed in another way that
// leaves it open, with the tensor that stands for the number, or as a function written in Python.
#include <algorithm>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/float_functions.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/symbolic/symbolic_literals.h"
#include "core/capture/interpreter/symbolic/symbolic_numbers.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

using T = Tracer;
using A = Arguments;

struct FloatFunctionRow {
  const char* name;
  size_t position, most;            // of the number; how many arguments the other way takes
  const char *keyword, *otherwise;  // null: as PyTorch's own Python has it
};
constexpr FloatFunctionRow kRows[] = {
    {"torch.nn.functional.batch_norm", 6, 8, "momentum", "batch_norm"},
    {"torch.nn.functional.leaky_relu", 1, 2, "negative_slope", "leaky_relu"},
    {"torch.nn.functional.gumbel_softmax", 1, 5, "tau", nullptr},
};

// The same function takes tensors of no dims for its numbers, which are the first to the last of these
// parameters. The result is of the type of the tensor beside them: the first parameter, or one of the
// numbers.
struct TensorRow {
  std::string_view name;
  size_t first, last;
  std::string_view first_name, last_name;
  bool among;
};
constexpr TensorRow kTensorRows[] = {
    {"clamp", 1, 2, "min", "max", false},      {"clip", 1, 2, "min", "max", false},
    {"clamp_min", 1, 1, "min", "", false},     {"clamp_max", 1, 1, "max", "", false},
    {"masked_fill", 2, 2, "value", "", false}, {"masked_fill_", 2, 2, "value", "", false},
    {"clamp_", 1, 2, "min", "max", false},     {"clip_", 1, 2, "min", "max", false},
    {"fill_", 1, 1, "value", "", false},       {"where", 1, 2, "input", "other", true},
};

// A tensor on the CPU that has its type also beside a f64 of no dims.
bool keeps_its_type(T& t, Value* v) {
  if (!has_tensor(t, v)) return false;
  v = t.look(v);
  if (!v->is(ValueKind::Tensor)) return false;
  const ir::TensorType type = torch_api::type_of(v->obj);
  return type.device.is_cpu() && takes_number(type) && !is_single(type);
}

// For a symbolic float or a plain number; nullptr for anything else.
Value* tensor_of_number(T& t, Value* v) {
  if (Value* open = symbolic_float(t, v)) return open->as<FloatValue>().tensor;
  if (!is_exact_number(const_object(t, t.look(v)))) return nullptr;
  Value* dtype = t.pinned(find_object("torch.float64"));
  return torch_call(t, "torch.full", find_object("torch.full"), {{t.tuple({}), v}, {{"dtype", dtype}}});
}

// The arguments with tensors for the numbers. false: none of them is open, or one is no number.
bool take_tensors(T& t, const TensorRow& row, A& a) {
  std::vector<Value**> numbers;
  for (size_t i = row.first; i <= row.last && i < a.positional.size(); ++i)
    numbers.push_back(&a.positional[i]);
  for (auto& [key, value] : a.keyword)
    if (key == row.first_name || key == row.last_name) numbers.push_back(&value);
  const auto is_open = [&](Value** v) { return !has_tensor(t, *v) && symbolic_float(t, *v); };
  if (std::none_of(numbers.begin(), numbers.end(), is_open)) return false;
  for (Value** v : numbers) {
    if (has_tensor(t, *v) || (!is_open(v) && is_none(t, *v))) continue;
    *v = tensor_of_number(t, *v);
    if (!*v) return false;
  }
  return true;
}

const TensorRow* row_of(std::string_view name) {
  const auto at = std::find_if(std::begin(kTensorRows), std::end(kTensorRows),
                               [&](const TensorRow& row) { return row.name == name; });
  return at == std::end(kTensorRows) ? nullptr : at;
}

// torch.clamp(x, f). name: without "torch.". nullptr: no such function, or the number is fixed.
Value* with_tensors_of_numbers(T& t, const std::string& name, const A& a) {
  const TensorRow* row = row_of(name);
  if (!row || a.positional.empty()) return nullptr;
  const auto fits = [&](Value* v) { return keeps_its_type(t, v); };
  const bool typed =
      row->among ? std::any_of(a.positional.begin() + 1, a.positional.end(), fits) : fits(a.positional[0]);
  A given = a;
  if (!typed || !take_tensors(t, *row, given)) return nullptr;
  return torch_call(t, "torch." + name, find_object("torch." + name), given);
}

// torch.full(size, f), torch.full_like(x, f), x.new_full(size, f): ones * f.
struct FullRow {
  std::string_view name;
  const char* ones;
  size_t position;
};
constexpr FullRow kFullRows[] = {
    {"torch.full", "torch.ones", 1},
    {"torch.full_like", "torch.ones_like", 1},
    {"new_full", "new_ones", 2},
};

// self: of a method, else in `a`.
Value* filled(T& t, std::string_view name, Value* self, A a) {
  const auto row = std::find_if(std::begin(kFullRows), std::end(kFullRows),
                                [&](const FullRow& r) { return r.name == name; });
  if (row == std::end(kFullRows)) return nullptr;
  const size_t at = row->position - (self ? 1 : 0);
  Value* number = a.find("fill_value");
  if (at < a.positional.size()) {
    number = a.positional[at];
    a.positional.erase(a.positional.begin() + static_cast<std::ptrdiff_t>(at));
  }
  std::erase_if(a.keyword, [](const auto& each) { return each.first == "fill_value"; });
  const bool plain = std::all_of(a.keyword.begin(), a.keyword.end(), [](const auto& each) {
    return each.first == "dtype" || each.first == "device";
  });
  if (!plain || !number || has_tensor(t, number) || a.positional.size() != at || !symbolic_float(t, number))
    return nullptr;
  Value* ones = self ? tensor_method(t, self, row->ones, nullptr, std::move(a))
                     : torch_call(t, row->ones, find_object(row->ones), a);
  return float_binary(t, "mul", false, ones, number);
}

// torch.add(x, y, alpha=f), torch.lerp(x, y, f): as x's method.
Value* as_method(T& t, const std::string& name, const A& a) {
  if (a.positional.empty() || a.find("out") || !has_tensor(t, a.positional[0])) return nullptr;
  Value* self = t.look(a.positional[0]);
  if (!self->is(ValueKind::Tensor)) return nullptr;
  return with_symbolic_floats(t, self, name, nullptr,
                              {{a.positional.begin() + 1, a.positional.end()}, a.keyword});
}

}  // namespace

Value* call_with_symbolic_float(Tracer& t, const std::string& name, const Arguments& a) {
  for (const FloatFunctionRow& row : kRows) {
    if (name != row.name || a.positional.size() + a.keyword.size() > row.most) continue;
    Value* number = row.position < a.positional.size() ? a.positional[row.position] : a.find(row.keyword);
    if (!number || !symbolic_float(t, number)) continue;
    if (!row.otherwise) return call_function(t, t.pinned(find_object(name)), a);
    return call(t, t.pinned(find_object(std::string("vitrine._polyfills.library.") + row.otherwise)), a);
  }
  if (Value* full = filled(t, name, nullptr, a)) return full;
  if (!name.starts_with("torch.") || name.find('.', 6) != std::string::npos) return nullptr;
  if (Value* other = with_tensors_of_numbers(t, name.substr(6), a)) return other;
  return as_method(t, name.substr(6), a);
}

Value* method_with_symbolic_float(Tracer& t, Value* self, const std::string& name, const Arguments& a) {
  if (Value* full = filled(t, name, self, a)) return full;
  if (name == "new_tensor" && torch_api::type_of(self->obj).device.is_cpu()) {
    Arguments like = a;
    if (!a.find("dtype")) like.keyword.emplace_back("dtype", tensor_attr(t, self, "dtype"));
    return tensor_of_symbolic_numbers(t, like);
  }
  const TensorRow* row = row_of(name);
  if (!row || !keeps_its_type(t, self)) return nullptr;
  Arguments given = a;
  given.positional.insert(given.positional.begin(), self);
  if (!take_tensors(t, *row, given)) return nullptr;
  given.positional.erase(given.positional.begin());
  return tensor_method(t, self, name, nullptr, std::move(given));
}

}  // namespace vitrine::capture
