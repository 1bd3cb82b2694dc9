// SPDX-License-Identifier: BSL-1.0
// What a block is, where the functions that asked for it prove it: buffers and nodes of containers, make_shared ....
#pragma once

#include "analyse/names.hpp"

#include <string>

namespace heapmark::symbolise {

/// "std::vector<Node> buffer", "std::_List_node<int>", "std::make_shared<Node> block"; empty when the stack proves nothing.
/// Only functions of libstdc++ count whose sole allocation is that object: names of others prove nothing, and nor do those
/// into which the program's own code may have been compiled unless debug information tells such calls apart.
[[nodiscard]] std::string type_by_stack(const Stack& stack, analyse::Names& names);

} // namespace heapmark::symbolise
