// Rows of the session as JSON, by the same field list that reads and writes them.
#pragma once

#include <nlohmann/json.hpp>

#include "core/session/reader.h"

namespace vitrine::cli {

inline nlohmann::ordered_json json_value(const session::Reader&, int64_t v) {
  return v;
}
inline nlohmann::ordered_json json_value(const session::Reader&, double v) {
  return v;
}
inline nlohmann::ordered_json json_value(const session::Reader&, const std::string& v) {
  return v;
}
inline nlohmann::ordered_json json_value(const session::Reader& s, session::BlobRef v) {
  return s.text(v);
}
inline nlohmann::ordered_json json_value(const session::Reader&, const session::Bytes& v) {
  return v.size();
}

// Texts behind BlobRef columns are put in place when `texts` is set, else the column is left out.
template <class Row>
nlohmann::ordered_json json_row(const session::Reader& s, const Row& row, bool texts = true) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  Row::each(row, [&](const char* name, const auto& field) {
    using T = std::decay_t<decltype(field)>;
    if (texts || !std::is_same_v<T, session::BlobRef>) out[name] = json_value(s, field);
  });
  return out;
}

template <class Row>
nlohmann::ordered_json json_rows(const session::Reader& s, const std::vector<Row>& rows, bool texts = true) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Row& row : rows) out.push_back(json_row(s, row, texts));
  return out;
}

// Appends an element to the text of an array that begins with "[".
inline void append_element(std::string& out, const nlohmann::ordered_json& element) {
  out += out.size() > 1 ? ",\n  " : "\n  ";
  for (char c : element.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) {
    out += c;
    if (c == '\n') out += "  ";
  }
}

// The array is whole.
inline std::string array_text(const std::string& elements) {
  return elements == "[" ? "[]\n" : elements + "\n]\n";
}

inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// The text of an array of rows, as json_text(json_rows(...)), made row by row: as JSON values a large table
// takes many times its room.
template <class Row>
std::string json_table(const session::Reader& s, const std::vector<Row>& rows, bool texts = true) {
  std::string out = "[";
  for (const Row& row : rows) append_element(out, json_row(s, row, texts));
  return array_text(out);
}

}  // namespace vitrine::cli
