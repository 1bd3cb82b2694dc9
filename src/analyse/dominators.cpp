// SPDX-License-Identifier: BSL-1.0
// T. Lengauer and R. Tarjan, "A fast algorithm for finding dominators in a flowgraph", 1979, in its simple form and
// without recursion: lists of a million elements are ordinary graphs here.
#include "analyse/dominators.hpp"

#include <algorithm>
#include <limits>

namespace heapmark::analyse {
namespace {

using Vertex = std::uint32_t; ///< 0 stands for all roots; node + 1
constexpr Vertex none = std::numeric_limits<Vertex>::max();

/// Neighbours of v: list[first[v]] to list[first[v + 1]].
struct Neighbours {
    std::vector<Vertex> first;
    std::vector<Vertex> list;

    [[nodiscard]] std::span<const Vertex> of(Vertex v) const { return {&list[0] + first[v], &list[0] + first[v + 1]}; }
};

class Dominators {
public:
    Dominators(std::size_t node_count, std::span<const Node> entries, std::span<const Edge> edges)
        : count_(node_count + 1)
    {
        collect(entries, edges, false, next_);
        collect(entries, edges, true, previous_);
        for (auto* list : {&parent_, &semi_, &ancestor_, &dominator_, &bucket_, &next_in_bucket_})
            list->assign(count_, none);
        label_.resize(count_);
        for (Vertex v = 0; v < count_; ++v) label_[v] = v;
    }

    void find()
    {
        number_vertices();
        for (std::size_t i = order_.size(); i-- > 1;) {
            const Vertex w = order_[i];
            for (const Vertex v : previous_.of(w))
                if (semi_[v] != none) semi_[w] = std::min(semi_[w], semi_[lowest(v)]);
            const Vertex at = order_[semi_[w]];
            next_in_bucket_[w] = bucket_[at];
            bucket_[at] = w;
            ancestor_[w] = parent_[w];
            for (Vertex v = bucket_[parent_[w]]; v != none; v = next_in_bucket_[v]) {
                const Vertex u = lowest(v);
                dominator_[v] = semi_[u] < semi_[v] ? u : parent_[w];
            }
            bucket_[parent_[w]] = none;
        }
        for (std::size_t i = 1; i < order_.size(); ++i) {
            const Vertex w = order_[i];
            if (dominator_[w] != order_[semi_[w]]) dominator_[w] = dominator_[dominator_[w]];
        }
    }

    /// All that can be reached, a dominator before what it dominates.
    [[nodiscard]] const std::vector<Vertex>& order() const { return order_; }
    [[nodiscard]] Vertex of(Vertex v) const { return dominator_[v]; }

private:
    void collect(std::span<const Node> entries, std::span<const Edge> edges, bool backwards, Neighbours& out) const
    {
        const auto for_each = [&](auto&& visit) {
            for (const Node entry : entries) backwards ? visit(entry + 1, 0U) : visit(0U, entry + 1);
            for (const Edge& edge : edges)
                backwards ? visit(edge.to + 1, edge.from + 1) : visit(edge.from + 1, edge.to + 1);
        };
        out.first.assign(count_ + 1, 0);
        out.list.resize(std::max<std::size_t>(entries.size() + edges.size(), 1));
        for_each([&](Vertex from, Vertex) { ++out.first[from + 1]; });
        for (std::size_t v = 0; v < count_; ++v) out.first[v + 1] += out.first[v];
        std::vector<Vertex> filled(out.first.begin(), out.first.end() - 1);
        for_each([&](Vertex from, Vertex to) { out.list[filled[from]++] = to; });
    }

    /// Depth first: semi_ becomes the number, order_ the vertex of a number.
    void number_vertices()
    {
        struct Visit {
            Vertex vertex;
            Vertex neighbour;
        };
        std::vector<Visit> visits{{0, 0}};
        semi_[0] = 0;
        order_.push_back(0);
        while (!visits.empty()) {
            const Vertex from = visits.back().vertex;
            const std::span<const Vertex> neighbours = next_.of(from);
            if (visits.back().neighbour == neighbours.size()) {
                visits.pop_back();
                continue;
            }
            const Vertex to = neighbours[visits.back().neighbour++];
            if (semi_[to] != none) continue;
            semi_[to] = static_cast<Vertex>(order_.size());
            order_.push_back(to);
            parent_[to] = from;
            visits.push_back({to, 0});
        }
    }

    /// On the way from v up to the root of its tree, that root left out, the vertex of the lowest semidominator.
    Vertex lowest(Vertex v)
    {
        if (ancestor_[v] == none) return v;
        path_.clear();
        for (Vertex x = v; ancestor_[ancestor_[x]] != none; x = ancestor_[x]) path_.push_back(x);
        for (std::size_t i = path_.size(); i-- > 0;) {
            const Vertex x = path_[i];
            const Vertex above = ancestor_[x];
            if (semi_[label_[above]] < semi_[label_[x]]) label_[x] = label_[above];
            ancestor_[x] = ancestor_[above];
        }
        return label_[v];
    }

    std::size_t count_;
    Neighbours next_;
    Neighbours previous_;
    std::vector<Vertex> order_;
    std::vector<Vertex> parent_;
    std::vector<Vertex> semi_;
    std::vector<Vertex> ancestor_;
    std::vector<Vertex> label_;
    std::vector<Vertex> dominator_;
    std::vector<Vertex> bucket_;
    std::vector<Vertex> next_in_bucket_;
    std::vector<Vertex> path_;
};

} // namespace

std::vector<std::uint64_t> dominated_bytes(std::span<const std::uint64_t> bytes, std::span<const Node> entries,
                                           std::span<const Edge> edges)
{
    Dominators dominators(bytes.size(), entries, edges);
    dominators.find();
    std::vector<std::uint64_t> total(bytes.size(), 0);
    const std::vector<Vertex>& order = dominators.order();
    for (std::size_t i = order.size(); i-- > 1;) {
        const Vertex v = order[i];
        total[v - 1] += bytes[v - 1];
        if (const Vertex above = dominators.of(v); above != 0) total[above - 1] += total[v - 1];
    }
    return total;
}

} // namespace heapmark::analyse
