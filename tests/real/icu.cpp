// SPDX-License-Identifier: BSL-1.0
#include "scenario.hpp"

#include <unicode/ubrk.h>
#include <unicode/ucnv.h>
#include <unicode/ucol.h>
#include <unicode/udat.h>
#include <unicode/unistr.h>
#include <unicode/unum.h>
#include <unicode/uregex.h>
#include <unicode/uset.h>

#include <string>

namespace {

// ICU's functions carry its version in their names; their macros do not like to be arguments of others.
bool ok(UErrorCode status) { return U_SUCCESS(status); }

} // namespace

SCENARIO(ICU, Converter)
{
    UErrorCode status = U_ZERO_ERROR;
    UConverter* converter = ucnv_open("iso-8859-15", &status);
    EXPECT(ok(status));
    if (!leaks) ucnv_close(converter);
}

SCENARIO(ICU, Collator)
{
    UErrorCode status = U_ZERO_ERROR;
    UCollator* collator = ucol_open("sv", &status);
    const bool before = ucol_strcoll(collator, u"z", 1, u"\u00e4", 1) == UCOL_LESS;
    EXPECT(ok(status) && before);
    if (!leaks) ucol_close(collator);
}

SCENARIO(ICU, Words)
{
    UErrorCode status = U_ZERO_ERROR;
    UBreakIterator* words = ubrk_open(UBRK_WORD, "en", u"two words", 9, &status);
    EXPECT(ok(status) && ubrk_next(words) == 3);
    if (!leaks) ubrk_close(words);
}

SCENARIO(ICU, Expression)
{
    UErrorCode status = U_ZERO_ERROR;
    URegularExpression* expression = uregex_open(u"[a-z]+", 6, 0, nullptr, &status);
    uregex_setText(expression, u"12 abc", 6, &status);
    const bool found = uregex_find(expression, 0, &status) != 0;
    EXPECT(ok(status) && found);
    if (!leaks) uregex_close(expression);
}

SCENARIO(ICU, Number)
{
    UErrorCode status = U_ZERO_ERROR;
    UNumberFormat* format = unum_open(UNUM_DECIMAL, nullptr, 0, "de", nullptr, &status);
    char16_t text[40];
    const bool written = unum_formatDouble(format, 1234.5, text, 40, nullptr, &status) == 7;
    EXPECT(ok(status) && written);
    if (!leaks) unum_close(format);
}

SCENARIO(ICU, Date)
{
    UErrorCode status = U_ZERO_ERROR;
    UDateFormat* format = udat_open(UDAT_LONG, UDAT_LONG, "fr", u"UTC", 3, nullptr, 0, &status);
    EXPECT(ok(status));
    if (!leaks) udat_close(format);
}

SCENARIO(ICU, Set)
{
    USet* letters = uset_open('a', 'z');
    uset_add(letters, 0xe4);
    const bool has = uset_contains(letters, 0xe4) != 0;
    EXPECT(has);
    if (!leaks) uset_close(letters);
}

SCENARIO(ICU, Text)
{
    auto* text = new icu::UnicodeString(u"a text that is long enough not to fit into the string itself");
    text->toUpper();
    EXPECT(text->indexOf(u'T') >= 0);
    if (!leaks) delete text;
}
