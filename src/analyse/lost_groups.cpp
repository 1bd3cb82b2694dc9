// SPDX-License-Identifier: BSL-1.0
// Strongly connected components (R. Tarjan, "Depth-first search and linear graph algorithms", 1972, without recursion);
// the components that no other one points to are the roots.
#include "analyse/lost_groups.hpp"

#include <algorithm>
#include <limits>

namespace heapmark::analyse {
namespace {

using Index = std::uint32_t; ///< position in `nodes`
constexpr Index none = std::numeric_limits<Index>::max();

/// The graph with nodes renumbered without gaps.
struct Graph {
    std::vector<Index> first; ///< edges of i: targets[first[i]] to targets[first[i + 1]]
    std::vector<Index> targets;
    std::vector<const Edge*> edges; ///< of the same position

    [[nodiscard]] std::size_t size() const noexcept { return first.size() - 1; }
};

Graph renumber(std::span<const Node> nodes, std::span<const Edge> edges)
{
    Graph graph;
    graph.first.reserve(nodes.size() + 1);
    const Edge* edge = edges.data();
    const Edge* const end = edge + edges.size();
    for (const Node node : nodes) {
        graph.first.push_back(static_cast<Index>(graph.targets.size()));
        while (edge != end && edge->from < node) ++edge;
        for (; edge != end && edge->from == node; ++edge) {
            const auto target = std::lower_bound(nodes.begin(), nodes.end(), edge->to);
            if (target == nodes.end() || *target != edge->to) continue;
            graph.targets.push_back(static_cast<Index>(target - nodes.begin()));
            graph.edges.push_back(edge);
        }
    }
    graph.first.push_back(static_cast<Index>(graph.targets.size()));
    return graph;
}

/// Component of each node. Components are numbered from 0.
std::vector<Index> components(const Graph& graph, Index& count)
{
    struct Visit {
        Index node;
        Index edge;
    };
    std::vector<Index> component(graph.size(), none);
    std::vector<Index> number(graph.size(), none);
    std::vector<Index> lowest(graph.size(), none);
    std::vector<Index> open;
    std::vector<Visit> visits;
    Index next_number = 0;
    count = 0;
    for (Index start = 0; start < graph.size(); ++start) {
        if (number[start] != none) continue;
        visits.push_back({start, graph.first[start]});
        while (!visits.empty()) {
            Visit& visit = visits.back();
            const Index node = visit.node;
            if (number[node] == none) {
                number[node] = lowest[node] = next_number++;
                open.push_back(node);
            }
            bool descended = false;
            while (visit.edge < graph.first[node + 1]) {
                const Index target = graph.targets[visit.edge];
                if (number[target] == none) {
                    visits.push_back({target, graph.first[target]}); // `visit` is void from here on
                    descended = true;
                    break;
                }
                if (component[target] == none) lowest[node] = std::min(lowest[node], lowest[target]);
                ++visit.edge;
            }
            if (descended) continue;
            if (lowest[node] == number[node]) {
                Index member = none;
                do {
                    member = open.back();
                    open.pop_back();
                    component[member] = count;
                } while (member != node);
                ++count;
            }
            visits.pop_back();
        }
    }
    return component;
}

/// A shortest way from `root` back to itself inside its component. `came_by` is scratch, one edge a node, all none.
std::vector<Edge> cycle_through(const Graph& graph, const std::vector<Index>& component, Index root,
                                std::vector<Index>& came_by)
{
    std::vector<Index> queue{root};
    std::vector<Edge> cycle;
    for (std::size_t next = 0; next < queue.size() && cycle.empty(); ++next) {
        const Index node = queue[next];
        for (Index edge = graph.first[node]; edge < graph.first[node + 1] && cycle.empty(); ++edge) {
            const Index target = graph.targets[edge];
            if (component[target] != component[root]) continue;
            if (target == root) {
                cycle.push_back(*graph.edges[edge]);
                for (Index at = node; at != root;) {
                    const Index way = came_by[at];
                    cycle.push_back(*graph.edges[way]);
                    const auto after = std::upper_bound(graph.first.begin(), graph.first.end(), way);
                    at = static_cast<Index>(after - graph.first.begin() - 1);
                }
                std::reverse(cycle.begin(), cycle.end());
            } else if (came_by[target] == none) {
                came_by[target] = edge;
                queue.push_back(target);
            }
        }
    }
    for (const Index node : queue) came_by[node] = none;
    return cycle;
}

} // namespace

std::vector<LostGroup> lost_groups(std::span<const Node> nodes, std::span<const Edge> edges,
                                   std::span<const Node> preferred)
{
    const Graph graph = renumber(nodes, edges);
    Index component_count = 0;
    const std::vector<Index> component = components(graph, component_count);

    std::vector<bool> pointed_at(component_count, false);
    for (Index node = 0; node < graph.size(); ++node)
        for (Index edge = graph.first[node]; edge < graph.first[node + 1]; ++edge)
            if (component[graph.targets[edge]] != component[node]) pointed_at[component[graph.targets[edge]]] = true;

    const auto is_preferred = [&](Node node) { return std::binary_search(preferred.begin(), preferred.end(), node); };
    std::vector<Index> root_of(component_count, none); // the member that stands for an unpointed component
    for (Index node = 0; node < graph.size(); ++node) {
        Index& root = root_of[component[node]];
        if (pointed_at[component[node]]) continue;
        if (root == none || (!is_preferred(nodes[root]) && is_preferred(nodes[node]))) root = node;
    }
    std::erase(root_of, none);
    std::sort(root_of.begin(), root_of.end(), [&](Index a, Index b) {
        const bool a_first = is_preferred(nodes[a]);
        const bool b_first = is_preferred(nodes[b]);
        return a_first != b_first ? a_first : a < b;
    });

    std::vector<LostGroup> groups;
    std::vector<bool> taken(graph.size(), false);
    std::vector<Index> came_by(graph.size(), none);
    for (const Index root : root_of) {
        LostGroup& group = groups.emplace_back();
        group.root = nodes[root];
        group.cycle = cycle_through(graph, component, root, came_by);
        std::vector<Index> members{root};
        taken[root] = true;
        for (std::size_t next = 0; next < members.size(); ++next) {
            const Index node = members[next];
            for (Index edge = graph.first[node]; edge < graph.first[node + 1]; ++edge) {
                const Index target = graph.targets[edge];
                if (taken[target]) continue;
                taken[target] = true;
                members.push_back(target);
            }
        }
        std::sort(members.begin(), members.end());
        for (const Index member : members) group.members.push_back(nodes[member]);
    }
    return groups;
}

} // namespace heapmark::analyse
