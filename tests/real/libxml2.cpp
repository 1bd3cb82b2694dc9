// SPDX-License-Identifier: BSL-1.0
#include "scenario.hpp"

#include <libxml/HTMLparser.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlreader.h>
#include <libxml/xpath.h>

#include <cstring>

namespace {

constexpr const char* text = "<guests><guest name='Ada'>first</guest><guest name='Grace'>second</guest></guests>";

class Document {
public:
    Document() : doc_(xmlReadMemory(text, static_cast<int>(std::strlen(text)), "guests.xml", nullptr, 0)) {}
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;
    ~Document() { xmlFreeDoc(doc_); }
    [[nodiscard]] xmlDocPtr get() const { return doc_; }
    [[nodiscard]] xmlNodePtr guest() const { return xmlDocGetRootElement(doc_)->children; }

private:
    xmlDocPtr doc_;
};

const xmlChar* in(const char* word) { return reinterpret_cast<const xmlChar*>(word); }

} // namespace

SCENARIO(libxml2, Document)
{
    xmlDocPtr doc = xmlReadMemory(text, static_cast<int>(std::strlen(text)), "guests.xml", nullptr, 0);
    EXPECT(doc != nullptr);
    if (!leaks) xmlFreeDoc(doc);
}

SCENARIO(libxml2, Attribute)
{
    const Document document;
    xmlChar* name = xmlGetProp(document.guest(), in("name"));
    EXPECT(xmlStrEqual(name, in("Ada")) == 1);
    if (!leaks) xmlFree(name);
}

SCENARIO(libxml2, Content)
{
    const Document document;
    xmlChar* content = xmlNodeGetContent(document.guest());
    EXPECT(xmlStrEqual(content, in("first")) == 1);
    if (!leaks) xmlFree(content);
}

SCENARIO(libxml2, XPathResult)
{
    const Document document;
    xmlXPathContextPtr context = xmlXPathNewContext(document.get());
    xmlXPathObjectPtr found = xmlXPathEvalExpression(in("//guest[@name='Grace']"), context);
    EXPECT(found != nullptr && found->nodesetval->nodeNr == 1);
    if (!leaks) xmlXPathFreeObject(found);
    xmlXPathFreeContext(context);
}

SCENARIO(libxml2, XPathContext)
{
    const Document document;
    xmlXPathContextPtr context = xmlXPathNewContext(document.get());
    xmlXPathFreeObject(xmlXPathEvalExpression(in("count(//guest)"), context));
    if (!leaks) xmlXPathFreeContext(context);
}

SCENARIO(libxml2, Buffer)
{
    const Document document;
    xmlBufferPtr buffer = xmlBufferCreate();
    EXPECT(xmlNodeDump(buffer, document.get(), document.guest(), 0, 0) > 0);
    if (!leaks) xmlBufferFree(buffer);
}

SCENARIO(libxml2, UnlinkedNode)
{
    const Document document;
    xmlNodePtr guest = document.guest();
    xmlUnlinkNode(guest);
    if (!leaks) xmlFreeNode(guest);
}

SCENARIO(libxml2, Reader)
{
    xmlTextReaderPtr reader = xmlReaderForMemory(text, static_cast<int>(std::strlen(text)), nullptr, nullptr, 0);
    while (xmlTextReaderRead(reader) == 1) {}
    if (!leaks) xmlFreeTextReader(reader);
}

SCENARIO(libxml2, Html)
{
    htmlDocPtr doc = htmlReadMemory("<p>a<b>c", 8, nullptr, nullptr, HTML_PARSE_NOERROR);
    EXPECT(doc != nullptr);
    if (!leaks) xmlFreeDoc(doc);
}
