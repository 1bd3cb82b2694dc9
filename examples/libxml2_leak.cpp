// SPDX-License-Identifier: BSL-1.0
// Two mistakes that are easily made with libxml2, found by what they leave behind: a document that is not freed on an
// early return, and a string from xmlNodeGetContent, which belongs to the caller.
#include <heapmark/heapmark.hpp>
#include <heapmark/report.hpp>

#include <libxml/parser.h>
#include <libxml/tree.h>

#include <cstring>
#include <iostream>
#include <string>

namespace {

constexpr const char* orders[] = {
    "<order id='1'><item>pencil</item><item>paper</item></order>",
    "<order id='2'><item>ink</item></order>",
    "<order id='3'/>",
};

xmlDoc* parse(const char* text)
{
    return xmlReadMemory(text, static_cast<int>(std::strlen(text)), "order.xml", nullptr, XML_PARSE_NONET);
}

} // namespace

// Right: everything that is asked for is given back.
std::string first_item(const char* text)
{
    xmlDoc* document = parse(text);
    xmlNode* item = xmlFirstElementChild(xmlDocGetRootElement(document));
    std::string result;
    if (item != nullptr) {
        xmlChar* content = xmlNodeGetContent(item);
        result = reinterpret_cast<const char*>(content);
        xmlFree(content);
    }
    xmlFreeDoc(document);
    return result;
}

// Wrong: the content of the item is the caller's to free.
bool is_about_ink(const char* text)
{
    xmlDoc* document = parse(text);
    xmlNode* item = xmlFirstElementChild(xmlDocGetRootElement(document));
    const bool ink = item != nullptr && std::strcmp(reinterpret_cast<const char*>(xmlNodeGetContent(item)), "ink") == 0;
    xmlFreeDoc(document);
    return ink;
}

// Wrong: an order without items returns before its document is freed.
int count_items(const char* text)
{
    xmlDoc* document = parse(text);
    xmlNode* root = xmlDocGetRootElement(document);
    if (root->children == nullptr) return 0;
    const auto items = static_cast<int>(xmlChildElementCount(root));
    xmlFreeDoc(document);
    return items;
}

int main()
{
    if (!heapmark::active()) {
        std::cerr << heapmark::status().problem << '\n';
        return 2;
    }
    xmlInitParser();
    for (const char* order : orders) first_item(order); // what libxml2 keeps for good, it makes on first use

    const heapmark::Generation clean = heapmark::mark("first_item");
    for (const char* order : orders) first_item(order);
    const heapmark::Snapshot nothing = heapmark::survivors(clean);
    std::cout << nothing;

    const heapmark::Generation contents = heapmark::mark("is_about_ink");
    for (const char* order : orders) is_about_ink(order);
    const heapmark::Snapshot strings = heapmark::survivors(contents);
    std::cout << strings;

    const heapmark::Generation documents = heapmark::mark("count_items");
    for (const char* order : orders) count_items(order);
    const heapmark::Snapshot document = heapmark::survivors(documents);
    heapmark::TextOptions largest;
    largest.max_groups = 3;
    heapmark::write_text(std::cout, document, largest);

    xmlCleanupParser();

    // What valgrind --leak-check=full counts in the same program: one string for each of the two items, and the ten
    // blocks of the document that libxml2 2.9 makes.
    const bool as_expected = nothing.empty() && strings.size() == 2 &&
                             strings.filter(heapmark::in_function("is_about_ink")).size() == 2 &&
                             document.filter(heapmark::in_function("count_items")).size() == document.size() &&
                             (LIBXML_VERSION < 21000 ? document.size() == 10 : !document.empty());
    return as_expected ? 0 : 1;
}
