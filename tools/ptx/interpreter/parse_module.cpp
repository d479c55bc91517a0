#include <algorithm>
#include <cstring>
#include <utility>

#include "tools/ptx/interpreter/module.hpp"
#include "tools/ptx/interpreter/parse_body.hpp"

namespace axion::ptx {
namespace {

class ModuleParser {
 public:
  ModuleParser(std::string_view text, U64 static_shared, U64 dynamic_shared)
      : cursor_(text), static_shared_(static_shared), dynamic_shared_(dynamic_shared) {}

  Module parse() {
    while (!cursor_.at_end()) parse_directive();
    for (const auto& entry : module_.functions) link(*entry.second);
    return std::move(module_);
  }

 private:
  void parse_directive() {
    const std::string_view word = cursor_.take();
    if (word == ".version" || word == ".target" || word == ".address_size") {
      cursor_.take();
      while (cursor_.take_if(",")) cursor_.take();
    } else if (word == ".weak" || word == ".visible" || word == ".extern") {
      return;  // of one module there is one of each
    } else if (word == ".func" || word == ".entry") {
      parse_function(word == ".entry");
    } else if (word == ".global" || word == ".const") {
      parse_variable();
    } else if (word == ".shared") {
      parse_shared();
    } else if (word == ".file") {
      const U32 number = static_cast<U32>(number_bits(cursor_.take(), cursor_));
      const std::string_view name = cursor_.take();
      module_.files[number] = std::string(name.substr(1, name.size() - 2));
      while (cursor_.take_if(",")) cursor_.take();  // time and size
    } else if (word == ".section") {
      cursor_.take();  // for debuggers
      while (!cursor_.take_if("}")) cursor_.take();
    } else {
      cursor_.fail("unknown directive '" + std::string(word) + "'");
    }
  }

  void parse_variable() {
    const Declaration d = parse_declaration(cursor_);
    auto bytes = std::make_unique<AlignedBytes>(std::max(1u, d.slot.bytes));
    if (cursor_.take_if("=")) read_initial(*bytes, d);
    cursor_.expect(";");
    module_.variables[std::string(d.name)] = reinterpret_cast<U64>(bytes->data());
    module_.storage.push_back(std::move(bytes));
    module_.storage_names.emplace_back(d.name);
  }

  // What is not named is zero.
  void read_initial(AlignedBytes& bytes, const Declaration& d) {
    const bool list = cursor_.take_if("{");
    const std::size_t element = d.slot.element;
    std::size_t at = 0;
    do {
      const bool negative = cursor_.take_if("-");
      if (!is_number(cursor_.token())) cursor_.fail("an initial value that is no number");
      const U64 bits = number_bits(cursor_.take(), cursor_);
      const U64 value = negative ? U64(0) - bits : bits;
      if (at + element > bytes.size()) cursor_.fail("too many initial values");
      std::memcpy(bytes.data() + at, &value, element);
      at += element;
    } while (list && cursor_.take_if(","));
    if (list) cursor_.expect("}");
  }

  void parse_shared() {
    const Declaration d = parse_declaration(cursor_);
    if (!d.is_open) cursor_.fail("a static shared variable outside of a function");
    module_.shared[std::string(d.name)] = dynamic_shared_;
    cursor_.expect(";");
  }

  // (.param .b32 a, .param .align 8 .b8 b[16]): places behind each other in the frame.
  std::vector<Slot> parse_parameters(std::map<std::string_view, Slot>& slots, U32& top) {
    std::vector<Slot> result;
    cursor_.expect("(");
    while (!cursor_.take_if(")")) {
      cursor_.expect(".param");
      Declaration d = parse_declaration(cursor_);
      d.slot.offset = (top + d.slot.align - 1) / d.slot.align * d.slot.align;
      top = d.slot.offset + d.slot.bytes;
      slots[d.name] = d.slot;
      result.push_back(d.slot);
      cursor_.take_if(",");
    }
    return result;
  }

  void parse_function(bool is_entry) {
    std::map<std::string_view, Slot> slots;
    std::vector<Slot> results, parameters;
    U32 top = 0;
    if (cursor_.token() == "(") results = parse_parameters(slots, top);
    const std::string name(cursor_.take());
    if (cursor_.token() == "(") parameters = parse_parameters(slots, top);
    std::unique_ptr<Function>& function = module_.functions[name];
    if (function == nullptr) function = std::make_unique<Function>();
    function->name = name, function->is_entry = is_entry;
    function->results = std::move(results), function->parameters = std::move(parameters);
    for (;;) {
      const std::string_view word = cursor_.take();
      if (word == ";") return;
      if (word == "{") break;
      if (word == ".maxntid") {
        function->max_threads = static_cast<U32>(number_bits(cursor_.token(), cursor_));
        skip_numbers();
        continue;
      }
      // How many blocks and registers there may be: nothing that changes what is computed.
      if (word != ".minnctapersm" && word != ".maxnreg" && word != ".reqntid" && word != ".noreturn") {
        cursor_.fail("unknown directive '" + std::string(word) + "'");
      }
      skip_numbers();
    }
    BodyParser(cursor_, module_, *function, std::move(slots), static_shared_).parse();
  }

  void skip_numbers() {
    while (is_number(cursor_.token()) || cursor_.token() == ",") cursor_.take();
  }

  void link(Function& f) {
    for (CallSite& site : f.sites) {
      const auto found = module_.functions.find(site.name);
      if (found == module_.functions.end()) cursor_.fail_at(site.line, "no function '" + site.name + "'");
      const Function& callee = *found->second;
      if (!callee.is_defined && site.name != "__assertfail") {
        cursor_.fail_at(site.line, "'" + site.name + "' has no body");
      }
      if (!same(site.arguments, callee.parameters) || !same(site.results, callee.results)) {
        cursor_.fail_at(site.line, "other parameters than those of '" + site.name + "'");
      }
      site.callee = &callee;
    }
  }

  static bool same(const std::vector<Slot>& a, const std::vector<Slot>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Slot& x, const Slot& y) { return x.bytes == y.bytes; });
  }

  Cursor cursor_;
  const U64 static_shared_, dynamic_shared_;
  Module module_;
};

}  // namespace

const Function& Module::entry(std::string_view name) const {
  const auto found = functions.find(name);
  if (found == functions.end() || !found->second->is_entry) {
    throw ParseError("the module has no entry '" + std::string(name) + "'");
  }
  return *found->second;
}

std::string Module::source(const Instruction& i) const {
  const auto file = files.find(i.source_file);
  if (i.source == 0 || file == files.end()) return "";
  const std::size_t at = file->second.rfind("/engine/");
  return (at == std::string::npos ? file->second : file->second.substr(at + 1)) + ":" + std::to_string(i.source);
}

Module parse_module(std::string_view text, U64 static_shared, U64 dynamic_shared) {
  return ModuleParser(text, static_shared, dynamic_shared).parse();
}

}  // namespace axion::ptx
