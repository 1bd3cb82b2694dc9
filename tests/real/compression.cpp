// SPDX-License-Identifier: BSL-1.0
// zlib and Expat.
#include "scenario.hpp"

#include <expat.h>
#include <zlib.h>

#include <cstring>
#include <string>
#include <vector>

SCENARIO(zlib, Deflate)
{
    z_stream stream{};
    EXPECT(deflateInit(&stream, 9) == Z_OK);
    if (!leaks) deflateEnd(&stream);
}

SCENARIO(zlib, Inflate)
{
    z_stream stream{};
    EXPECT(inflateInit(&stream) == Z_OK);
    unsigned char out[10];
    unsigned char in[] = "no zlib data";
    stream.next_in = in;
    stream.avail_in = sizeof in;
    stream.next_out = out;
    stream.avail_out = sizeof out;
    const bool refused = inflate(&stream, Z_FINISH) == Z_DATA_ERROR;
    EXPECT(refused);
    if (!leaks) inflateEnd(&stream); // leaked on the error path
}

SCENARIO(zlib, File)
{
    gzFile file = gzopen("/dev/null", "wb");
    EXPECT(gzputs(file, "text") == 4);
    if (!leaks) gzclose(file);
}

SCENARIO(zlib, Copy)
{
    z_stream one{};
    z_stream other{};
    EXPECT(deflateInit(&one, 1) == Z_OK && deflateCopy(&other, &one) == Z_OK);
    deflateEnd(&one);
    if (!leaks) deflateEnd(&other);
}

SCENARIO(Expat, Parser)
{
    XML_Parser parser = XML_ParserCreate(nullptr);
    EXPECT(XML_Parse(parser, "<a><b/></a>", 11, 1) == XML_STATUS_OK);
    if (!leaks) XML_ParserFree(parser);
}

SCENARIO(Expat, BrokenDocument)
{
    XML_Parser parser = XML_ParserCreateNS("UTF-8", '|');
    const bool refused = XML_Parse(parser, "<a><b></a>", 10, 1) == XML_STATUS_ERROR;
    EXPECT(refused);
    if (!leaks) XML_ParserFree(parser);
}

SCENARIO(Expat, HandlersObject)
{
    XML_Parser parser = XML_ParserCreate(nullptr);
    auto* names = new std::vector<std::string>;
    XML_SetUserData(parser, names);
    XML_SetStartElementHandler(parser, [](void* data, const XML_Char* name, const XML_Char**) {
        static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    });
    EXPECT(XML_Parse(parser, "<a><b/></a>", 11, 1) == XML_STATUS_OK && names->size() == 2);
    if (!leaks) delete names;
    XML_ParserFree(parser);
}
