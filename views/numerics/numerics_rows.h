// Rows of the table `numerics` as a table's items: errors as bars on one scale, a small histogram, marks.
#pragma once

#include "core/session/rows.h"
#include "views/kit/session/session_data.h"
#include "views/kit/tables/item_model.h"

namespace vitrine::views {

std::vector<kit::Column> numericsColumns();
std::vector<kit::Item> numericsItems(const kit::SessionData& data, Id compilation);

// What is named by the marks: the node of the first value that differs, of the first that makes a NaN or an
// infinity; 0 = none.
Id firstDivergence(const kit::SessionData& data, Id compilation);
Id sourceOfNan(const kit::SessionData& data, Id compilation);

// "12 values, 1 differs": of the compilation, "" where none was compared.
QString numericsSummary(const kit::SessionData& data, Id compilation);

}  // namespace vitrine::views
