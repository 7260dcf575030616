// Two kinds of error. A Result carries what the user or the environment did (what happened, what to do);
// VITRINE_CHECK guards our own invariants and throws InternalError, which names pass and node on its way up.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace vitrine {

struct Error {
  std::string what;   // one sentence: what happened
  std::string hint;   // what to do about it; may be empty
  std::string where;  // "file.py:12:4" or a path; may be empty
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T take() { return std::move(std::get<0>(state_)); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// An Error, or nothing: the result of an act without a value.
using Status = std::optional<Error>;

// A broken invariant of Vitrine's own. Caught at the pass runner and at the engine's edge: eager runs
// instead.
class InternalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& text);

}  // namespace vitrine

#define VITRINE_CHECK(cond, text) \
  ((cond) ? void(0) : ::vitrine::check_failed(__FILE__, __LINE__, #cond, (text)))
