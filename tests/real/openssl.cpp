// SPDX-License-Identifier: BSL-1.0
#include "scenario.hpp"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

SCENARIO(OpenSSL, Digest)
{
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EXPECT(EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1 && EVP_DigestUpdate(context, "text", 4) == 1);
    EXPECT(EVP_DigestFinal_ex(context, digest, &size) == 1 && size == 32);
    if (!leaks) EVP_MD_CTX_free(context);
}

SCENARIO(OpenSSL, Cipher)
{
    EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
    const unsigned char key[32] = {1};
    const unsigned char start[16] = {2};
    EXPECT(EVP_EncryptInit_ex(context, EVP_aes_256_cbc(), nullptr, key, start) == 1);
    if (!leaks) EVP_CIPHER_CTX_free(context);
}

SCENARIO(OpenSSL, MemoryBio)
{
    BIO* bio = BIO_new(BIO_s_mem());
    EXPECT(BIO_puts(bio, "a line\n") == 7);
    if (!leaks) BIO_free(bio);
}

SCENARIO(OpenSSL, Number)
{
    BIGNUM* number = BN_new();
    EXPECT(BN_set_word(number, 12345) == 1 && BN_lshift(number, number, 100) == 1);
    if (!leaks) BN_free(number);
}

SCENARIO(OpenSSL, NumberText)
{
    BIGNUM* number = nullptr;
    EXPECT(BN_dec2bn(&number, "123456789012345678901234567890") > 0);
    char* text = BN_bn2hex(number);
    BN_free(number);
    if (!leaks) OPENSSL_free(text);
}

SCENARIO(OpenSSL, Key)
{
    EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519");
    EXPECT(key != nullptr);
    if (!leaks) EVP_PKEY_free(key);
}

SCENARIO(OpenSSL, Name)
{
    X509_NAME* name = X509_NAME_new();
    EXPECT(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("Ada"), -1, -1,
                                      0) == 1);
    if (!leaks) X509_NAME_free(name);
}

SCENARIO(OpenSSL, ErrorPath)
{
    // The usual mistake: on failure, what was made before is forgotten.
    BIO* bio = BIO_new_mem_buf("no key", 6);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
    EXPECT(key == nullptr);
    ERR_clear_error();
    if (!leaks) BIO_free(bio);
}

SCENARIO(OpenSSL, Session)
{
    SSL_CTX* context = SSL_CTX_new(TLS_method());
    SSL* session = SSL_new(context);
    EXPECT(session != nullptr);
    SSL_CTX_free(context);
    if (!leaks) SSL_free(session);
}
