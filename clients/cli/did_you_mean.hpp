// What somebody may have meant who typed a word that there is not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace axion::cli {

// " (did you mean 'models'?)" of the choice that takes the fewest letters to change, exchange with the next, leave out
// or put in: at most two, and one in three. Empty where none is as near. `quote` stands before the choice, and after it
// where it is "'".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& choices, const char* quote = "'");

}  // namespace axion::cli
