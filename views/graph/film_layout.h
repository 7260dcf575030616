// One layout for all snapshots that the film of a compilation goes through, so that a node stands where it
// stood: the union of their pictures is laid out once, and each picture takes its places from it. What is
// written out as several nodes stands, closed, where the operator stood that it is a part of.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "views/graph/scene.h"

namespace vitrine::views {

struct FilmLayout {
  std::string asked;                                        // film_key() of what it was made for
  std::set<std::string> open;                               // modules, in all snapshots alike
  std::unordered_map<std::string, kit::Box> nodes;          // by key
  std::unordered_map<std::string, kit::Box> groups;         // by title
  std::unordered_map<std::string, std::string> stands_for;  // a card's key -> that of the operator
  double width = 0, height = 0;
};
using FilmLayoutPtr = std::shared_ptr<const FilmLayout>;

// Whether the graph is one that passes of its compilation go through.
bool is_of_film(const kit::SessionData& data, const session::GraphRow& graph);
// The snapshot before a changed one that has nodes, 0: there is none.
Id snapshot_before(const kit::SessionData& data, const session::GraphRow& graph);

// Of a session, a compilation and what the user has chosen: another one needs another layout.
std::string film_key(const kit::SessionData& data, const session::GraphRow& graph,
                     const SceneOptions& options);

// nullptr: it is too large, or cancelled. options: those of the picture, of which `before` and `only_open`
// are set here.
FilmLayoutPtr film_layout(const kit::SessionData& data, const session::GraphRow& graph, SceneOptions options,
                          const std::function<bool()>& cancelled);
// The scene's boxes at the film's places, with lines of its own; nothing where one has no place.
std::optional<kit::GraphLayout> placed_by(const FilmLayout& film, const kit::SessionData& data,
                                          const Scene& scene);

}  // namespace vitrine::views
