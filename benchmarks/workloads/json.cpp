// SPDX-License-Identifier: BSL-1.0
// nlohmann/json: a document of `--size` bytes (2 MB unless told) is parsed, indexed by two of its fields, and dropped.
// An operation is one byte of it, so that a slow tool can be given less to read.
#include "workload.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace bench {
namespace {

using nlohmann::json;

std::string document(std::size_t bytes)
{
    Random random(7);
    std::string text = "[";
    for (unsigned id = 0; text.size() < bytes; ++id) {
        if (id != 0) text += ',';
        text += R"({"id":"item-)" + std::to_string(id) + R"(","group":"the group numbered )" +
                std::to_string(random.between(0, 200)) + R"(","price":)" + std::to_string(random.between(1, 100'000)) +
                R"(.25,"tags":["first tag","a second tag, longer than fits in a string object","third"],)" +
                R"("size":{"x":)" + std::to_string(random.between(0, 1000)) + R"(,"y":null,"z":true}})";
    }
    return text + "]";
}

class Documents final : public Worker {
public:
    explicit Documents(std::size_t bytes) : text_(document(bytes)) {}

    std::uint64_t work() override
    {
        const json parsed = json::parse(text_);
        std::unordered_map<std::string, const json*> by_id;
        std::map<std::string, std::vector<json>> by_group;
        for (const json& item : parsed) {
            by_id.emplace(item.at("id").get<std::string>(), &item);
            by_group[item.at("group").get<std::string>()].push_back(item.at("size"));
        }
        opaque(&by_id);
        opaque(&by_group);
        return text_.size();
    }

private:
    std::string text_;
};

} // namespace

void run_json(const Settings& settings)
{
    const std::size_t bytes = settings.size == 0 ? 2'000'000 : settings.size;
    run_workers(settings, [bytes](unsigned) { return new Documents(bytes); });
}

} // namespace bench
