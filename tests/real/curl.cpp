// SPDX-License-Identifier: BSL-1.0
// libcurl, against a server of our own on the loopback interface.
#include "scenario.hpp"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

namespace {

/// Answers each request with the same few lines, until it is destroyed. The system chooses the port.
class Server {
public:
    Server()
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        EXPECT(bind(socket_, generic, size) == 0 && listen(socket_, 8) == 0 &&
               getsockname(socket_, generic, &size) == 0);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server()
    {
        shutdown(socket_, SHUT_RDWR); // ends accept
        thread_.join();
        close(socket_);
    }
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/guests"; }

private:
    void serve() const
    {
        constexpr const char* answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nSet-Cookie: guest=Ada\r\n"
                                       "Connection: close\r\n\r\ntext";
        for (int client; (client = accept(socket_, nullptr, nullptr)) >= 0; close(client)) {
            char request[4096];
            std::size_t got = 0;
            // What is sent is small, and its end is the empty line.
            for (ssize_t more = 1; more > 0 && memmem(request, got, "\r\n\r\n", 4) == nullptr;
                 got += static_cast<std::size_t>(more))
                more = recv(client, request + got, sizeof request - got, 0);
            EXPECT(send(client, answer, std::strlen(answer), MSG_NOSIGNAL) > 0);
        }
    }

    int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unsigned port_ = 0;
    std::thread thread_;
};

std::size_t append(char* data, std::size_t size, std::size_t count, void* text)
{
    static_cast<std::string*>(text)->append(data, size * count);
    return size * count;
}

/// Fetches with the handle, and expects the server's text.
void fetch(CURL* curl, const std::string& url)
{
    std::string text;
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &text);
    EXPECT(curl_easy_perform(curl) == CURLE_OK);
    EXPECT(text == "text");
}

} // namespace

SCENARIO(libcurl, Handle)
{
    const Server server;
    CURL* curl = curl_easy_init();
    fetch(curl, server.url());
    if (!leaks) curl_easy_cleanup(curl);
}

SCENARIO(libcurl, Headers)
{
    const Server server;
    CURL* curl = curl_easy_init();
    curl_slist* headers = curl_slist_append(nullptr, "Accept: text/plain");
    headers = curl_slist_append(headers, "X-Guest: Ada");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    fetch(curl, server.url());
    curl_easy_cleanup(curl);
    if (!leaks) curl_slist_free_all(headers);
}

SCENARIO(libcurl, Escaped)
{
    CURL* curl = curl_easy_init();
    char* escaped = curl_easy_escape(curl, "Ada & Grace", 0);
    EXPECT(std::strcmp(escaped, "Ada%20%26%20Grace") == 0);
    if (!leaks) curl_free(escaped);
    curl_easy_cleanup(curl);
}

SCENARIO(libcurl, Url)
{
    CURLU* url = curl_url();
    EXPECT(curl_url_set(url, CURLUPART_URL, "http://localhost/guests?name=Ada", 0) == CURLUE_OK);
    if (!leaks) curl_url_cleanup(url);
}

SCENARIO(libcurl, PartOfUrl)
{
    CURLU* url = curl_url();
    curl_url_set(url, CURLUPART_URL, "http://localhost/guests?name=Ada", 0);
    char* query = nullptr;
    EXPECT(curl_url_get(url, CURLUPART_QUERY, &query, 0) == CURLUE_OK);
    if (!leaks) curl_free(query);
    curl_url_cleanup(url);
}

SCENARIO(libcurl, Form)
{
    const Server server;
    CURL* curl = curl_easy_init();
    curl_mime* form = curl_mime_init(curl);
    curl_mimepart* part = curl_mime_addpart(form);
    curl_mime_name(part, "guest");
    curl_mime_data(part, "Ada", CURL_ZERO_TERMINATED);
    curl_easy_setopt(curl, CURLOPT_MIMEPOST, form);
    fetch(curl, server.url());
    curl_easy_cleanup(curl);
    if (!leaks) curl_mime_free(form);
}

SCENARIO(libcurl, Share)
{
    const Server server;
    CURLSH* share = curl_share_init();
    curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
    CURL* curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_SHARE, share);
    curl_easy_setopt(curl, CURLOPT_COOKIEFILE, "");
    fetch(curl, server.url());
    curl_easy_cleanup(curl);
    if (!leaks) curl_share_cleanup(share);
}

SCENARIO(libcurl, Multi)
{
    const Server server;
    std::string text;
    CURL* curl = curl_easy_init();
    const std::string url = server.url();
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &text);
    CURLM* multi = curl_multi_init();
    curl_multi_add_handle(multi, curl);
    for (int running = 1; running != 0;) {
        EXPECT(curl_multi_perform(multi, &running) == CURLM_OK);
        if (running != 0) curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
    }
    EXPECT(text == "text");
    curl_multi_remove_handle(multi, curl);
    curl_easy_cleanup(curl);
    if (!leaks) curl_multi_cleanup(multi);
}

SCENARIO(libcurl, Cookies)
{
    const Server server;
    CURL* curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_COOKIEFILE, "");
    fetch(curl, server.url());
    curl_slist* cookies = nullptr;
    EXPECT(curl_easy_getinfo(curl, CURLINFO_COOKIELIST, &cookies) == CURLE_OK && cookies != nullptr);
    if (!leaks) curl_slist_free_all(cookies);
    curl_easy_cleanup(curl);
}

SCENARIO(libcurl, DataOfACallback)
{
    const Server server;
    CURL* curl = curl_easy_init();
    auto* text = new std::string;
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &append);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, text);
    fetch(curl, server.url());
    EXPECT(text->find("200 OK") != std::string::npos);
    curl_easy_cleanup(curl);
    if (!leaks) delete text;
}

SCENARIO(libcurl, ReturnOnError)
{
    CURL* curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, "no-such-scheme://localhost/");
    if (curl_easy_perform(curl) != CURLE_OK && leaks) return;
    curl_easy_cleanup(curl);
}
