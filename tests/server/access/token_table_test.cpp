// The file of tokens: what is taken, and that whatever else it holds is refused by its line, without being repeated.
#include "server/access/token_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace axion::server::access {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string hash_of(absl::string_view token) {
  const Digest digest = digest_of(token);
  return absl::StrCat("sha256:", absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()}));
}

TEST(TokenTable, the_hash_is_sha256_of_the_token) {
  EXPECT_EQ(hash_of("abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(TokenTable, a_token_finds_its_tenant_with_its_quotas_and_no_other_token_does) {
  const auto table = TokenTable::parse(
      absl::StrCat("# who\r\n\n  red\t", hash_of("one"), " max_worlds=7 max_queue=3 max_memory=8GiB\r\n", "blue ",
                   hash_of("two"), " max_snapshot_bytes=3000M max_batches=9 weight=3\nred ", hash_of("three"),
                   " max_queue=3 max_worlds=7 max_memory=8589934592"));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->size(), 3u);
  EXPECT_EQ(table->tenant_count(), 2u);
  const auto red = table->find(digest_of("one")), again = table->find(digest_of("three")),
             blue = table->find(digest_of("two"));
  ASSERT_TRUE(red != nullptr && blue != nullptr);
  EXPECT_EQ(red, again);
  EXPECT_EQ(red->name, "red");
  EXPECT_EQ(red->quota, (schedule::TenantQuota{
                            .max_worlds = 7, .max_models = 0, .max_queue = 3, .max_memory = std::int64_t(8) << 30}));
  EXPECT_EQ(blue->quota,
            (schedule::TenantQuota{.max_batches = 9, .max_snapshot_bytes = std::int64_t(3000) << 20, .weight = 3}));
  for (const char* token : {"", "One", "one ", "four"}) EXPECT_EQ(table->find(digest_of(token)), nullptr) << token;
}

// Two digests that share the bytes by which they are indexed are told apart by the rest.
TEST(TokenTable, digests_are_compared_whole) {
  const std::string start(16, 'a'), hash = absl::StrCat("sha256:", start, std::string(48, '1'));
  const auto table = TokenTable::parse(absl::StrCat("red ", hash, "\nblue sha256:", start, std::string(48, '2')));
  ASSERT_TRUE(table.ok()) << table.status();
  Digest digest;
  digest.fill(0x11);
  std::fill_n(digest.begin(), 8, std::uint8_t{0xaa});
  ASSERT_NE(table->find(digest), nullptr);
  EXPECT_EQ(table->find(digest)->name, "red");
  for (std::size_t i = 0; i < digest.size(); ++i) {
    Digest other = digest;
    other[i] ^= 1;
    EXPECT_EQ(table->find(other), nullptr) << i;
    EXPECT_FALSE(same_digest(digest, other)) << i;
  }
}

TEST(TokenTable, hostile_lines_are_refused_by_number_and_never_repeated) {
  const std::string hash = hash_of("one");
  const std::string secret = "axion_pasted_token";
  for (const auto& [line, words] : std::vector<std::pair<std::string, std::string>>{
           {"red", "after the tenant"},
           {absl::StrCat("red ", secret), "a token itself does not belong"},
           {absl::StrCat(secret, " ", secret), "a token itself does not belong"},
           {absl::StrCat("red ", hash.substr(7)), "sha256:"},
           {absl::StrCat("red ", hash, "0"), "64 hexadecimal"},
           {absl::StrCat("red ", hash.substr(0, 70)), "64 hexadecimal"},
           {absl::StrCat("red sha256:", std::string(64, 'g')), "64 hexadecimal"},
           {absl::StrCat("red SHA256:", hash.substr(7)), "sha256:"},
           {absl::StrCat("-red ", hash), "no name of a tenant"},
           {absl::StrCat("r/d ", hash), "no name of a tenant"},
           {absl::StrCat("r\xc3\xa9 ", hash), "no name of a tenant"},
           {absl::StrCat("\xef\xbb\xbfred ", hash), "no name of a tenant"},
           {absl::StrCat(std::string(64, 'a'), " ", hash), "no name of a tenant"},
           {absl::StrCat(std::string("r\0d ", 4), hash), "no name of a tenant"},
           {absl::StrCat("red ", hash, std::string("\0", 1)), "64 hexadecimal"},
           {absl::StrCat("red ", hash, " max_worlds"), "whole number"},
           {absl::StrCat("red ", hash, " max_worlds="), "whole number"},
           {absl::StrCat("red ", hash, " max_worlds=0"), "whole number"},
           {absl::StrCat("red ", hash, " max_worlds=-1"), "whole number"},
           {absl::StrCat("red ", hash, " weight=0"), "whole number"},
           {absl::StrCat("red ", hash, " max_worlds=+1"), "whole number"},
           {absl::StrCat("red ", hash, " max_worlds=1e3"), "whole number"},
           {absl::StrCat("red ", hash, " max_worlds=99999999999999999999"), "whole number"},
           {absl::StrCat("red ", hash, " max_worlds=2147483648"), "whole number"},
           {absl::StrCat("red ", hash, " max_worlds=1 max_worlds=2"), "twice"},
           {absl::StrCat("red ", hash, " max_memories=1"), "quotas alone"},
           {absl::StrCat("red ", hash, " max_memory"), "must be a size"},
           {absl::StrCat("red ", hash, " max_memory=0"), "must be a size"},
           {absl::StrCat("red ", hash, " max_memory=-1"), "must be a size"},
           {absl::StrCat("red ", hash, " max_memory=+1"), "must be a size"},
           {absl::StrCat("red ", hash, " max_memory=GiB"), "must be a size"},
           {absl::StrCat("red ", hash, " max_memory=8GB"), "must be a size"},
           {absl::StrCat("red ", hash, " max_snapshot_bytes=99999999TiB"), "must be a size"},
           {absl::StrCat("red ", hash, " max_memory=1 max_memory=1"), "twice"},
           {absl::StrCat("red ", hash, " ", secret), "quotas alone"},
           {absl::StrCat("red ", hash_of("before")), "that of line 1"},
           {absl::StrCat("first ", hash, " max_worlds=1"), "other quotas in line 1"},
           {absl::StrCat("red ", hash, std::string(2000, ' ')), "longer than 1024"}}) {
    const auto table = TokenTable::parse(absl::StrCat("first ", hash_of("before"), "\n", line, "\n"));
    ASSERT_FALSE(table.ok()) << absl::CEscape(line);
    EXPECT_THAT(table.status().message(), HasSubstr("line 2: "));
    EXPECT_THAT(table.status().message(), HasSubstr(words)) << absl::CEscape(line);
    EXPECT_THAT(table.status().message(), Not(HasSubstr(secret)));
  }
}

TEST(TokenTable, a_huge_file_is_refused_and_a_great_one_taken) {
  EXPECT_THAT(TokenTable::parse(std::string(TokenTable::kMaxFileBytes + 1, '\n')).status().message(),
              HasSubstr("at most"));
  std::string text;
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&text, "t", i % 100, " ", hash_of(absl::StrCat("token", i)), "\n");
  const auto table = TokenTable::parse(text);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->find(digest_of("token12345"))->name, "t45");
  EXPECT_EQ(table->find(digest_of("token20000")), nullptr);
}

// Whatever the bytes are: a table or a refusal of a few words.
TEST(TokenTable, random_bytes_are_parsed_or_refused) {
  std::mt19937 random(7);
  const std::string pieces[] = {
      "red ", hash_of("x"), "\n", "\r", "#", " max_worlds=", "9", std::string(1, '\0'), "\xff", "="};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (unsigned count = random() % 12; count > 0; --count) text += pieces[random() % std::size(pieces)];
    const auto table = TokenTable::parse(text);
    if (!table.ok()) {
      EXPECT_THAT(table.status().message(), HasSubstr("line "));
      EXPECT_LT(table.status().message().size(), 200u);
    }
  }
}

// What a tenant has under way is counted on when its quotas change.
TEST(TokenTable, a_new_file_keeps_what_tenants_have_under_way) {
  const auto before = TokenTable::parse(absl::StrCat("red ", hash_of("one"), " max_queue=1"));
  ASSERT_TRUE(before.ok());
  const auto after =
      TokenTable::parse(absl::StrCat("red ", hash_of("two"), " max_queue=2\nblue ", hash_of("one")), &*before);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(before->find(digest_of("one"))->load, after->find(digest_of("two"))->load);
  EXPECT_NE(before->find(digest_of("one"))->load, after->find(digest_of("one"))->load);
}

}  // namespace
}  // namespace axion::server::access
