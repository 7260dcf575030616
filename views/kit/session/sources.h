// Where a guarded value comes from, as the window writes it (core/session/source_text.h), and the modules
// that such sources enter.
#pragma once

#include <QString>
#include <map>
#include <string>

#include "core/base/ids.h"

namespace vitrine::kit {

struct SessionData;

QString sourceText(const std::string& recorded);

// With what stands in the program for values on the stack where the compilation's segment begins, as far as
// that is known: "iter(self.layers)" of an enclosing loop for "S[0]", "layer(x)" for the result of the call
// it goes on behind.
QString sourceText(const SessionData& data, Id compilation, const std::string& recorded);

// The part of a source that names a module, with its root: "L['self'].__dict__['_modules']['ln1']" of the one
// above; the whole when no module is entered.
std::string modulePart(const std::string& recorded);

// Classes of modules by their dotted path from the root, "encoder.layer.0" -> "BertLayer": as far as the
// compilation's guards know them.
std::map<std::string, QString> moduleClasses(const SessionData& data, Id compilation);

// The user's expression that a thing comes from, the nearest along the links; 0: none is known.
Id spanNear(const SessionData& data, Id id);

}  // namespace vitrine::kit
