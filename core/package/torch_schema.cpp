#include "core/package/torch_schema.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace vitrine::package {

namespace {

template <class T>
std::optional<T> number(const std::string& text) {
  T out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return out;
}

// A text is written as digits of its bytes.
std::optional<std::string> bytes_of(const std::string& digits) {
  std::string out;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned byte = 0;
    const char* const from = digits.data() + i;
    if (std::from_chars(from, from + 2, byte, 16).ptr != from + 2) return {};
    out += static_cast<char>(byte);
  }
  return digits.size() % 2 == 0 ? std::optional(out) : std::nullopt;
}

std::optional<ir::Arg> single(char kind, const std::string& text) {
  if (text == "none") return ir::Arg();
  if (kind == 's') {
    if (auto found = bytes_of(text)) return ir::Arg(*found);
    return {};
  }
  if (kind == 'f') {
    if (auto found = number<double>(text)) return ir::Arg(*found);
    return {};
  }
  const auto found = number<int64_t>(text);
  if (!found) return {};
  return kind == 'b' ? ir::Arg(*found != 0) : ir::Arg(*found);
}

std::optional<ir::Arg> default_of(const TorchParameter& parameter, const std::string& text) {
  if (!parameter.list || text == "none") return single(parameter.kind, text);
  std::vector<ir::Arg> out;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    auto one = single(parameter.kind, item);
    if (!one) return {};
    out.push_back(std::move(*one));
  }
  return ir::Arg(std::move(out));
}

// "dim:i=-1"
std::optional<TorchParameter> parameter_of(std::string word) {
  TorchParameter out;
  const size_t colon = word.find(':');
  if (colon == std::string::npos) return {};
  out.name = word.substr(0, colon);
  const size_t equal = word.find('=', colon);
  std::string kind = word.substr(colon + 1, equal == std::string::npos ? equal : equal - colon - 1);
  if (kind.starts_with('?')) out.optional = true, kind.erase(0, 1);
  if (kind.starts_with('*')) out.list = true, kind.erase(0, 1);
  if (kind.empty() || (std::string_view("Tifbs").find(kind[0]) == std::string_view::npos)) return {};
  out.kind = kind[0];
  if (kind.size() > 1) {
    const auto repeats = number<size_t>(kind.substr(1));
    if (!repeats || *repeats > 16) return {};
    out.repeats = *repeats;
  }
  if (equal == std::string::npos) return out;
  out.fallback = default_of(out, word.substr(equal + 1));
  if (!out.fallback) return {};
  return out;
}

}  // namespace

Result<TorchSchema> torch_schema(const std::vector<std::string>& lines, const std::string& op) {
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string of, count;
    TorchSchema out;
    words >> of;
    if (of != op) continue;
    words >> out.name >> out.overload >> count;
    const auto returns = number<size_t>(count);
    bool sound = returns && *returns <= 64;
    out.returns = returns.value_or(0);
    if (out.overload == "-") out.overload.clear();
    for (std::string word; sound && words >> word;) {
      auto parameter = parameter_of(std::move(word));
      sound = parameter.has_value();
      if (sound) out.parameters.push_back(std::move(*parameter));
    }
    if (!sound) return Error{"the package says in no known way what " + op + " takes", "", ""};
    return out;
  }
  return Error{"the package does not say what " + op + " takes", "", ""};
}

Result<std::vector<ir::Arg>> bound(const TorchSchema& schema, const ir::Node& node) {
  const Error wrong{"the program calls " + node.op + " with other arguments than it takes", "", ""};
  if (node.args.size() > schema.parameters.size()) return wrong;
  std::vector<ir::Arg> out = node.args;
  for (size_t i = out.size(); i < schema.parameters.size(); ++i) {
    const TorchParameter& parameter = schema.parameters[i];
    const auto named =
        std::ranges::find(node.kwargs, parameter.name, &std::pair<std::string, ir::Arg>::first);
    if (named == node.kwargs.end() && !parameter.fallback) return wrong;
    out.push_back(named != node.kwargs.end() ? named->second : *parameter.fallback);
  }
  for (const auto& [name, arg] : node.kwargs) {
    const auto at = std::ranges::find(schema.parameters, name, &TorchParameter::name);
    if (at - schema.parameters.begin() < static_cast<std::ptrdiff_t>(node.args.size()) ||
        at == schema.parameters.end())
      return wrong;
  }
  return out;
}

}  // namespace vitrine::package
