// SPDX-License-Identifier: BSL-1.0
// A worker that forgets a message and then crashes: it cannot be asked any more, but its trace can.
#include <heapmark/trace.hpp>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

const char* const trace_path = "crashed_worker.trace";

char* copy_message(const std::string& message)
{
    char* copy = new char[message.size() + 1];
    std::memcpy(copy, message.c_str(), message.size() + 1);
    return copy;
}

void handle(const std::string& message)
{
    char* copy = copy_message(message);
    if (std::strlen(copy) > 10) return; // too long for us: forgotten
    delete[] copy;
}

[[noreturn]] void work()
{
    heapmark::trace_start(trace_path);
    for (const char* message : {"stop", "start", "start again, please", "wait"}) handle(message);
    std::abort();
}

} // namespace

int main()
{
    const pid_t worker = fork();
    if (worker == 0) work();
    waitpid(worker, nullptr, 0);

    const heapmark::TraceMatch match = heapmark::match_traces({trace_path});
    std::cout << match;
    std::remove(trace_path);
    return match.leaks.size() == 1 && match.leaked_bytes == 20 ? 0 : 1;
}
