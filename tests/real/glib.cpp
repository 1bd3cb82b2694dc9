// SPDX-License-Identifier: BSL-1.0
// GLib and GObject: texts, containers without and with free functions, errors, and references.
#include "scenario.hpp"

#include <glib-object.h>
#include <glib.h>

#include <cstring>
#include <initializer_list>

SCENARIO(GLib, CopiedText)
{
    char* text = g_strdup("a text that the caller has to release");
    EXPECT(std::strlen(text) == 37);
    if (!leaks) g_free(text);
}

SCENARIO(GLib, Printed)
{
    char* text = g_strdup_printf("%d guests", 3);
    EXPECT(std::strcmp(text, "3 guests") == 0);
    if (!leaks) g_free(text);
}

SCENARIO(GLib, StolenText)
{
    GString* string = g_string_new("Ada");
    g_string_append_printf(string, " and %s", "Grace");
    char* text = g_string_free(string, FALSE);
    EXPECT(std::strcmp(text, "Ada and Grace") == 0);
    if (!leaks) g_free(text);
}

SCENARIO(GLib, Words)
{
    char** words = g_strsplit("Ada,Grace,Barbara", ",", 0);
    EXPECT(g_strv_length(words) == 3);
    if (leaks)
        g_free(words); // not the words
    else
        g_strfreev(words);
}

SCENARIO(GLib, List)
{
    GList* list = nullptr;
    for (int i = 0; i < 10; ++i) list = g_list_prepend(list, GINT_TO_POINTER(i));
    EXPECT(g_list_length(list) == 10);
    if (!leaks) g_list_free(list);
}

SCENARIO(GLib, ListOfTexts)
{
    GList* list = nullptr;
    for (const char* name : {"Ada", "Grace", "Barbara"}) list = g_list_append(list, g_strdup(name));
    if (leaks)
        g_list_free(list); // not the texts
    else
        g_list_free_full(list, g_free);
}

SCENARIO(GLib, HashTable)
{
    GHashTable* table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (const char* name : {"Ada", "Grace", "Barbara"}) g_hash_table_insert(table, g_strdup(name), g_strdup("guest"));
    EXPECT(g_hash_table_size(table) == 3);
    if (!leaks) g_hash_table_unref(table);
}

SCENARIO(GLib, HashTableOfTexts)
{
    GHashTable* table = g_hash_table_new_full(g_str_hash, g_str_equal, leaks ? nullptr : g_free, g_free);
    for (const char* name : {"Ada", "Grace", "Barbara"}) g_hash_table_insert(table, g_strdup(name), g_strdup("guest"));
    g_hash_table_unref(table);
}

SCENARIO(GLib, Pointers)
{
    GPtrArray* pointers = g_ptr_array_new_with_free_func(leaks ? nullptr : g_free);
    for (int i = 0; i < 20; ++i) g_ptr_array_add(pointers, g_strdup_printf("guest %d", i));
    g_ptr_array_unref(pointers);
}

SCENARIO(GLib, Error)
{
    char* contents = nullptr;
    GError* error = nullptr;
    EXPECT(g_file_get_contents("/no/such/file", &contents, nullptr, &error) == FALSE);
    EXPECT(g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT));
    if (!leaks) g_error_free(error);
}

SCENARIO(GLib, KeyFile)
{
    GKeyFile* file = g_key_file_new();
    EXPECT(g_key_file_load_from_data(file, "[guest]\nname=Ada\n", G_MAXSIZE, G_KEY_FILE_NONE, nullptr));
    char* name = g_key_file_get_string(file, "guest", "name", nullptr);
    EXPECT(g_strcmp0(name, "Ada") == 0);
    if (!leaks) g_free(name);
    g_key_file_unref(file);
}

SCENARIO(GLib, Expression)
{
    GRegex* expression = g_regex_new("([a-z]+)([0-9]+)", GRegexCompileFlags(0), GRegexMatchFlags(0), nullptr);
    GMatchInfo* match = nullptr;
    EXPECT(g_regex_match(expression, "abc12", GRegexMatchFlags(0), &match));
    if (!leaks) g_match_info_unref(match);
    g_regex_unref(expression);
}

SCENARIO(GLib, Variant)
{
    GVariant* guest = g_variant_new("(si)", "Ada", 36); // floating: nobody's until somebody sinks it
    EXPECT(g_variant_n_children(guest) == 2);
    if (!leaks) g_variant_unref(g_variant_ref_sink(guest));
}

SCENARIO(GLib, Source)
{
    GMainContext* context = g_main_context_new();
    GSource* source = g_idle_source_new();
    int calls = 0;
    g_source_set_callback(
        source,
        [](gpointer counter) -> gboolean {
            ++*static_cast<int*>(counter);
            return G_SOURCE_REMOVE;
        },
        &calls, nullptr);
    g_source_attach(source, context);
    g_main_context_iteration(context, FALSE);
    EXPECT(calls == 1);
    if (!leaks) g_source_unref(source);
    g_main_context_unref(context);
}

SCENARIO(GLib, Object)
{
    GObject* object = G_OBJECT(g_object_new(G_TYPE_OBJECT, nullptr));
    g_object_set_data_full(object, "name", g_strdup("Ada"), g_free);
    if (leaks) g_object_ref(object); // one reference too many
    g_object_unref(object);
}

SCENARIO(GLib, ObjectsOnACycle)
{
    GObject* host = G_OBJECT(g_object_new(G_TYPE_OBJECT, nullptr));
    GObject* guest = G_OBJECT(g_object_new(G_TYPE_OBJECT, nullptr));
    g_object_set_data_full(host, "guest", g_object_ref(guest), g_object_unref);
    if (leaks) g_object_set_data_full(guest, "host", g_object_ref(host), g_object_unref);
    g_object_unref(guest);
    g_object_unref(host);
}

SCENARIO(GLib, DataOfAHandler)
{
    GObject* object = G_OBJECT(g_object_new(G_TYPE_OBJECT, nullptr));
    const GClosureNotify free_data = [](gpointer data, GClosure*) { g_free(data); };
    g_signal_connect_data(object, "notify", G_CALLBACK(+[] {}), g_strdup("Ada"), leaks ? nullptr : free_data,
                          GConnectFlags(0));
    g_object_unref(object);
}

// Quarks and types live for good, in both: no leak.
SCENARIO(GLib, BesideAQuark)
{
    EXPECT(g_quark_from_string(leaks ? "a quark of the leaking test" : "a quark of the clean test") != 0);
    EXPECT(std::strcmp(g_intern_string("interned"), "interned") == 0);
    if (leaks) static_cast<void>(g_strdup("forgotten")[0]);
}
