#include "core/package/torch_call.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "core/package/torch_schema.h"

namespace vitrine::package {

namespace {

std::optional<double> number(const ir::Arg& arg) {
  if (arg.is<int64_t>()) return static_cast<double>(arg.as<int64_t>());
  if (arg.is<double>()) return arg.as<double>();
  return {};
}

bool refs(const ir::Node& node, const TorchCall::SlotOf& slot_of, std::vector<int32_t>& reads) {
  for (const ir::Arg& a : node.args) {
    if (!a.is<ir::Ref>()) return false;
    reads.push_back(slot_of(a.as<ir::Ref>()));
  }
  return true;
}

// mm and bmm: out = a @ b.
class TorchProduct : public TorchCall {
 public:
  using Fn = decltype(TorchFunctions::mm);
  TorchProduct(const TorchFunctions& torch, Fn fn) : TorchCall(torch), fn_(fn) {}
  bool prepare(const ir::Node& node, const SlotOf& slot_of) {
    return node.args.size() == 2 && node.kwargs.empty() && refs(node, slot_of, reads_);
  }
  Status call(const std::vector<AtenHandle>& values, std::vector<AtenTensor>& outs) const override {
    return done(fn_(outs[0].get(), values[0], values[1]));
  }

 private:
  Fn fn_;
};

// addmm and baddbmm: out = beta * self + alpha * (a @ b).
class TorchAddedProduct : public TorchCall {
 public:
  using Fn = decltype(TorchFunctions::addmm);
  TorchAddedProduct(const TorchFunctions& torch, Fn fn) : TorchCall(torch), fn_(fn) {}
  bool prepare(const ir::Node& node, const SlotOf& slot_of) {
    if (node.args.size() != 3 || !ir::is_float(node.type().dtype) || !refs(node, slot_of, reads_))
      return false;
    for (const auto& [key, arg] : node.kwargs) {
      const auto value = number(arg);
      if (!value || (key != "beta" && key != "alpha")) return false;
      (key == "beta" ? beta_ : alpha_) = *value;
    }
    return true;
  }
  Status call(const std::vector<AtenHandle>& values, std::vector<AtenTensor>& outs) const override {
    return done(fn_(outs[0].get(), values[0], values[1], values[2], beta_, alpha_));
  }

 private:
  Fn fn_;
  double beta_ = 1, alpha_ = 1;
};

// Any other operator, through the dispatcher: arguments and results are words of 64 bits.
class Dispatched : public TorchCall {
 public:
  Dispatched(const TorchFunctions& torch, TorchSchema schema) : TorchCall(torch), schema_(std::move(schema)) {
    into_out_ = false;
  }
  Status prepare(const ir::Node& node, const SlotOf& slot_of) {
    auto all = bound(schema_, node);
    if (!all) return all.error();
    args_ = all.take();
    for (const ir::Arg& arg : args_) ir::each_ref(arg, [&](ir::Ref r) { reads_.push_back(slot_of(r)); });
    return {};
  }
  Status call(const std::vector<AtenHandle>& values, std::vector<AtenTensor>& outs) const override {
    std::vector<uint64_t> stack(std::max(args_.size(), schema_.returns));
    size_t tensor = 0;
    for (size_t i = 0; i < args_.size(); ++i) {
      auto word = word_of(schema_.parameters[i], args_[i], values, tensor);
      if (!word) return word.error();
      stack[i] = word.value();
    }
    const AtenStatus status = torch_.call(schema_.name.c_str(), schema_.overload.c_str(), stack.data());
    if (status != 0) return torch_.failed(status);
    for (size_t i = 0; i < schema_.returns; ++i)
      outs.emplace_back(torch_, reinterpret_cast<AtenHandle>(static_cast<uintptr_t>(stack[i])));
    return {};
  }

 private:
  using Word = Result<uint64_t>;
  static uint64_t address(void* of) { return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(of)); }

  // What PyTorch takes over: it frees it, whatever becomes of the call.
  Word word_of(const TorchParameter& parameter, const ir::Arg& arg, const std::vector<AtenHandle>& values,
               size_t& tensor) const {
    if (parameter.optional && arg.is_none()) return uint64_t{0};
    Word word =
        parameter.list ? list_of(parameter, arg, values, tensor) : plain(parameter.kind, arg, values, tensor);
    if (!word || !parameter.optional) return word;
    uint64_t* held = nullptr;
    if (!torch_.new_value || torch_.new_value(&held) != 0) held = new uint64_t;
    *held = word.value();
    return address(held);
  }

  Word list_of(const TorchParameter& parameter, const ir::Arg& arg, const std::vector<AtenHandle>& values,
               size_t& tensor) const {
    const bool one = !arg.is<std::vector<ir::Arg>>();
    if (one && parameter.repeats == 0) return unknown();
    const std::vector<ir::Arg> items =
        one ? std::vector<ir::Arg>(parameter.repeats, arg) : arg.as<std::vector<ir::Arg>>();
    void* list = nullptr;
    if (torch_.new_list(items.size(), &list) != 0) return unknown();
    for (const ir::Arg& item : items) {
      Word word = plain(parameter.kind, item, values, tensor);
      if (!word) return word;
      if (torch_.push_back(list, word.value()) != 0) return unknown();
    }
    return address(list);
  }

  Word plain(char kind, const ir::Arg& arg, const std::vector<AtenHandle>& values, size_t& tensor) const {
    if (kind == 'T' && arg.is<ir::Ref>()) {
      AtenHandle own = nullptr;
      const AtenStatus status = torch_.another(values.at(tensor++), &own);
      return status == 0 ? Word(address(own)) : Word(torch_.failed(status));
    }
    if (kind == 'i' && arg.is<ir::DType>())
      return static_cast<uint64_t>(ir::dtype_to_scalar_type(arg.as<ir::DType>()));
    if (kind == 'i' && arg.is<ir::Word>()) return enumerated(arg.as<ir::Word>().text);
    if (kind == 'i' && arg.is<int64_t>()) return std::bit_cast<uint64_t>(arg.as<int64_t>());
    if (kind == 'i' && arg.is<bool>()) return static_cast<uint64_t>(arg.as<bool>());
    if (kind == 'f' && number(arg)) return std::bit_cast<uint64_t>(*number(arg));
    if (kind == 'b' && arg.is<bool>()) return static_cast<uint64_t>(arg.as<bool>());
    if (kind == 's' && arg.is<std::string>()) {
      const std::string& text = arg.as<std::string>();
      void* made = nullptr;
      if (torch_.new_text && torch_.new_text(text.data(), text.size(), &made) == 0) return address(made);
    }
    return unknown();
  }

  Word enumerated(const std::string& word) const {
    static constexpr auto kWords = std::to_array<std::pair<std::string_view, uint64_t>>({
        {"torch.strided", 0},
        {"torch.contiguous_format", 0},
        {"torch.preserve_format", 1},
        {"torch.channels_last", 2},
        {"torch.channels_last_3d", 3},
    });
    for (const auto& [text, value] : kWords)
      if (text == word) return value;
    return unknown();
  }

  Error unknown() const {
    return {"an argument of " + schema_.name + " cannot be given through PyTorch's C interface", "", ""};
  }

  const TorchSchema schema_;
  std::vector<ir::Arg> args_;
};

template <class Kind, class Fn>
std::unique_ptr<TorchCall> prepared(const TorchFunctions& torch, Fn fn, const ir::Node& node,
                                    const TorchCall::SlotOf& slot_of) {
  auto call = std::make_unique<Kind>(torch, fn);
  return fn && call->prepare(node, slot_of) ? std::move(call) : nullptr;
}

// Products write into the program's own memory.
std::unique_ptr<TorchCall> product(const TorchFunctions& torch, const ir::Node& node,
                                   const TorchCall::SlotOf& slot_of) {
  if (node.outputs.empty()) return nullptr;
  const bool gpu = node.type().device.is_cuda();
  if (node.op == "aten.mm.default")
    return prepared<TorchProduct>(torch, gpu ? torch.cuda_mm : torch.mm, node, slot_of);
  if (node.op == "aten.bmm.default")
    return prepared<TorchProduct>(torch, gpu ? torch.cuda_bmm : torch.bmm, node, slot_of);
  if (node.op == "aten.addmm.default")
    return prepared<TorchAddedProduct>(torch, gpu ? torch.cuda_addmm : torch.addmm, node, slot_of);
  if (node.op == "aten.baddbmm.default")
    return prepared<TorchAddedProduct>(torch, gpu ? torch.cuda_baddbmm : torch.baddbmm, node, slot_of);
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<TorchCall>> TorchCall::make(const TorchFunctions& torch, const ir::Node& node,
                                                   const SlotOf& slot_of,
                                                   const std::vector<std::string>& schemas) {
  if (auto call = product(torch, node, slot_of)) return call;
  auto schema = torch_schema(schemas, node.op);
  if (!schema) return schema.error();
  if (!torch.call || !torch.new_list || !torch.push_back)
    return Error{"this PyTorch has no dispatcher in its C interface", "Use PyTorch 2.11 or newer.", ""};
  auto call = std::make_unique<Dispatched>(torch, schema.take());
  if (Status failed = call->prepare(node, slot_of)) return *failed;
  return std::unique_ptr<TorchCall>(std::move(call));
}

}  // namespace vitrine::package
