// SPDX-License-Identifier: BSL-1.0
// What libraries and test frameworks allocate once and keep, each with its reason. The C library has a rule of its own
// (analyse/c_library.hpp). Names are those that libraries export, since few systems have their debug information.
#include "platform/thread_state.hpp"

#include <heapmark/suppressions.hpp>

namespace heapmark {

namespace {

// In the order of what it takes to tell: the innermost frames are named for the first lines, those of system libraries
// for the next, and all, with the debug information of all their sources, for the last.
constexpr std::string_view known_one_time_allocations = R"(
# results, messages and properties are kept until the run ends
site:testing::*
site:doctest::*
site:Catch::*
site:boost::unit_test::*
site:boost::test_tools::*

# static TLS of a thread: its stack, with this table, is kept for the next thread when it ends
function:_dl_allocate_tls
function:__tls_get_addr

# the table of destructors of thread-local objects
function:__cxa_thread_atexit

# libc++: what a thread keeps of the exceptions that are under way, from its first one on
function:__cxa_get_globals

# results, messages and properties, which frameworks make by way of others
function:doctest::detail::tlss*
function:boost::unit_test::framework::add_context
)";

/// What libraries hold for the rest of the process: it matters where memory may not even be held.
constexpr std::string_view kept_by_libraries = R"(
# done once in a process, whoever comes first
function:*pthread_once*

# OpenSSL: algorithms, error texts and random generators, loaded when they are first asked for
function:OPENSSL_init_crypto
function:OPENSSL_init_ssl
function:EVP_*_fetch
function:EVP_*_do_all_provided
function:OSSL_*_do_all_provided
function:RAND_get0_*
function:OBJ_NAME_add
function:ERR_*set_error

# GLib: quarks, types, signals, texts of errors and of the character set; and the blocks that g_slice cuts up
function:g_quark_from_*string
function:g_intern_*string
function:g_type_class_ref
function:g_type_register_*
function:g_signal_newv
function:g_variant_type_info_get
function:g_strerror
function:g_get_*charset*
function:g_private_*
function:g_thread_self
function:g_rec_mutex_lock
function:g_rw_lock_*_lock
function:g_slice_alloc

# libxml2: its tables
function:xmlInit*
function:__xmlInit*
function:xmlNewCharEncodingHandler

# ICU: caches of locales, collations, formats and converters; sets of characters for regular expressions
function:icu_*::UnifiedCache::*
function:icu_*::Locale::getLocaleCache
function:icu_*::*::initGlobals
function:icu_*::CollationRoot::load
function:icu_*::CharacterProperties::*
function:icu_*::locale_set_default_internal
function:icu_*::TimeZone::createDefault
function:icu_*::ZoneMeta::*
function:icu_*::Calendar::setWeekData
function:u_getBinaryPropertySet_*
function:ucnv_loadSharedData_*
function:ucnv_io_*
function:UDataMemory_createNewInstance_*

# protobuf: descriptors of the generated messages
function:google::protobuf::internal::AssignDescriptors
function:google::protobuf::DescriptorPool::internal_generated_pool
function:google::protobuf::MessageFactory::generated_factory

# Abseil: time zones
function:absl::*::time_zone::Impl::*

# glog: its log files, and the folders for them
function:google::LogMessage::SendToLog
)";

} // namespace

void Suppressions::add_built_in()
{
    const platform::Guard guard;
    const std::size_t before = list_.size();
    add(known_one_time_allocations, "built in");
    const std::size_t kept = list_.size();
    add(kept_by_libraries, "built in");
    for (std::size_t i = before; i < list_.size(); ++i) {
        list_[i].built_in = true;
        list_[i].only_held = i >= kept;
    }
}

} // namespace heapmark
