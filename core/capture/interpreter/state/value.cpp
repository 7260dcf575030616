#include "core/capture/interpreter/state/value.h"

#include "core/base/result.h"

namespace vitrine::capture {
namespace {

// Where a value keeps its items; nullptr: its kind has none.
template <class Content>
auto* items_in(Content& content) {
  using Found = std::conditional_t<std::is_const_v<Content>, const Values, Values>;
  return std::visit(
      [](auto& held) -> Found* {
        if constexpr (requires { held.items; })
          return &held.items;
        else
          return nullptr;
      },
      content);
}

template <class Content, size_t... Kinds>
void emplace(Content& content, size_t kind, std::index_sequence<Kinds...>) {
  ((kind == Kinds ? void(content.template emplace<Kinds>()) : void()), ...);
}

}  // namespace

void Value::wrong_kind() const {
  VITRINE_CHECK(false,
                "a value of kind " + std::to_string(content_.index()) + " is taken for one of another");
  std::abort();
}

Values& Value::items() {
  if (Values* items = items_in(content_)) return *items;
  wrong_kind();
}

const Values& Value::items() const {
  if (const Values* items = items_in(content_)) return *items;
  wrong_kind();
}

const Values& Value::items_if_any() const {
  static const Values none;
  const Values* items = items_in(content_);
  return items ? *items : none;
}

void become(Value* v, ValueKind kind) {
  emplace(v->content_, static_cast<size_t>(kind),
          std::make_index_sequence<std::variant_size_v<Value::Content>>());
}

Value* owner_of(const Value* v) {
  if (const auto* tuple = v->if_is<TupleValue>()) return tuple->owner;
  if (const auto* dict = v->if_is<DictValue>()) return dict->owner;
  return nullptr;
}

PyObject* real_of(const Value* v) {
  if (const auto* tensor = v->if_is<TensorValue>()) return tensor->real;
  if (const auto* tuple = v->if_is<TupleValue>()) return tuple->real;
  return nullptr;
}

ExceptionChain* chain_if_any(Value* v) {
  const auto* object = v->if_is<ObjectValue>();
  return object ? object->chain.get() : nullptr;
}

}  // namespace vitrine::capture
