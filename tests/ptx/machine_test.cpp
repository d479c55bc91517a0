// Small programs in PTX with known answers, and what the machine finds in bad ones.
#include "tools/ptx/interpreter/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tools/ptx/profile/profile.hpp"

namespace axion::ptx {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHead = ".version 9.0\n.target sm_90\n.address_size 64\n";

// An entry `run` with one parameter, the address of `out`; %rd1 is out + 8 * thread, %r1 the thread, %r2 their number.
std::string entry(const std::string& body, const std::string& before = "") {
  return kHead + before + R"(
.visible .entry run(.param .u64 run_param_0)
{
  .reg .pred %p<9>;
  .reg .b16 %rs<9>;
  .reg .b32 %r<20>;
  .reg .f32 %f<20>;
  .reg .b64 %rd<20>;
  .reg .f64 %fd<20>;
  ld.param.u64 %rd0, [run_param_0];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  mul.wide.u32 %rd1, %r1, 8;
  add.s64 %rd1, %rd0, %rd1;
)" + body +
         "\n}\n";
}

class Program {
 public:
  explicit Program(const std::string& text, const Options& options = {}) : machine(text, options) {}

  // What each thread wrote to its 8 bytes of out.
  std::vector<U64> run(U32 threads, U32 dynamic_shared = 0) {
    out = machine.memory().allocate(threads * sizeof(U64), "out");
    std::memset(reinterpret_cast<void*>(out), 0, threads * sizeof(U64));
    const void* arguments[] = {&out};
    machine.launch(machine.module().entry("run"), {1, 1, 1}, {threads, 1, 1}, dynamic_shared, arguments);
    std::vector<U64> result(threads);
    std::memcpy(result.data(), reinterpret_cast<const void*>(out), threads * sizeof(U64));
    return result;
  }
  std::string failure(U32 threads) {
    try {
      run(threads);
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "";
  }

  Machine machine;
  U64 out = 0;
};

std::string parse_failure(const std::string& text) {
  try {
    const Machine machine(text, {});
  } catch (const ParseError& error) {
    return error.what();
  }
  return "";
}

// One instruction on bits in registers of the widths given; the result's bits.
U64 compute(const std::string& instruction, const std::string& type, const std::vector<U64>& operands) {
  const bool wide = type.ends_with("64");
  std::string body, list = wide ? "%rd9" : "%r9";
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const std::string name = (wide ? "%rd1" : "%r1") + std::to_string(k);
    body += (wide ? "mov.b64 " : "mov.b32 ") + name + ", " + std::to_string(operands[k]) + ";\n";
    list += ", " + name;
  }
  body += instruction + " " + list + ";\nst.global." + (wide ? "u64 [%rd1], %rd9" : "u32 [%rd1], %r9") + ";\nret;";
  return Program(entry(body)).run(1)[0];
}

template <typename T>
U64 bits(T value) {
  U64 result = 0;
  std::memcpy(&result, &value, sizeof value);
  return result;
}

TEST(Machine, lanes_that_part_meet_again_before_what_follows) {
  // Threads below 10 go one way, the others loop as often as their number says; then all count how many are there.
  Program program(entry(R"(
    setp.lt.u32 %p1, %r1, 10;
    mov.u32 %r3, 0;
    @%p1 bra $low;
  $loop:
    add.s32 %r3, %r3, 3;
    add.s32 %r4, %r3, -30;
    setp.lt.s32 %p2, %r4, %r1;
    @%p2 bra $loop;
    bra.uni $end;
  $low:
    mov.u32 %r3, 7;
  $end:
    activemask.b32 %r5;
    mov.b64 %rd3, {%r3, %r5};
    st.global.u64 [%rd1], %rd3;
    ret;)"));
  const std::vector<U64> out = program.run(32);
  for (U32 t = 0; t < 32; ++t) {
    U32 expected = 7;
    if (t >= 10) {
      expected = 0;
      do {
        expected += 3;
      } while (int(expected) - 30 < int(t));
    }
    EXPECT_EQ(out[t], U64(0xffffffff) << 32 | expected) << t;
  }
}

TEST(Machine, functions_return_values_and_have_memory_of_their_own) {
  const std::string square_sum = R"(
.func (.param .b32 result) sum(.param .b32 n)
{
  .local .align 16 .b8 array[128];
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<2>;
  ld.param.u32 %r1, [n];
  mov.u64 %rd1, array;
  cvta.local.u64 %rd2, %rd1;
  mov.u32 %r2, 0;
$write:
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd2, %rd3;
  mul.lo.s32 %r3, %r2, %r2;
  st.u32 [%rd4], %r3;
  add.s32 %r2, %r2, 1;
  setp.le.u32 %p1, %r2, %r1;
  @%p1 bra $write;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  ld.local.u32 %r4, [%rd4];
  st.param.b32 [result+0], %r4;
  ret;
}
)";
  Program program(entry(R"(
    setp.gt.u32 %p1, %r1, 20;
    @%p1 bra $end;
    { .param .b32 a; st.param.b32 [a+0], %r1; .param .b32 b;
    call.uni (b), sum, (a);
    ld.param.b32 %r3, [b+0]; }
    cvt.u64.u32 %rd3, %r3;
    st.global.u64 [%rd1], %rd3;
  $end:
    ret;)",
                        square_sum));
  const std::vector<U64> out = program.run(32);
  for (U64 t = 0; t < 32; ++t) EXPECT_EQ(out[t], t > 20 ? 0 : t * t);
}

TEST(Machine, a_barrier_of_the_block_separates_writes_from_reads_of_other_warps) {
  const std::string reversed = R"(
    mov.u32 %r3, shared;
    mad.lo.s32 %r4, %r1, 4, %r3;
    st.shared.u32 [%r4], %r1;
    bar.sync 0;
    sub.s32 %r5, %r2, %r1;
    mad.lo.s32 %r4, %r5, 4, %r3;
    ld.shared.u32 %r6, [%r4+-4];
    cvt.u64.u32 %rd3, %r6;
    st.global.u64 [%rd1], %rd3;
    ret;)";
  const std::string declaration = ".extern .shared .align 16 .b8 shared[];";
  Options races;
  races.races = true;
  Program program(entry(reversed, declaration), races);
  const std::vector<U64> out = program.run(96, 96 * 4);
  for (U64 t = 0; t < 96; ++t) EXPECT_EQ(out[t], 95 - t);
  EXPECT_TRUE(program.machine.races().empty());

  std::string missing = reversed;
  missing.replace(missing.find("bar.sync 0"), 10, "mov.u32 %r7, 0");
  Program bad(entry(missing, declaration), races);
  bad.run(96, 96 * 4);
  ASSERT_FALSE(bad.machine.races().empty());
  EXPECT_THAT(bad.machine.describe(bad.machine.races()[0]), HasSubstr("run, line"));
}

TEST(Machine, lockstep_does_not_order_the_threads_of_a_warp) {
  const auto text = [](const std::string& barrier) {
    return entry(
        "xor.b32 %r3, %r1, 1;\n mul.wide.u32 %rd2, %r3, 8;\n add.s64 %rd2, %rd0, %rd2;\n"
        "cvt.u64.u32 %rd3, %r1;\n st.global.u64 [%rd1], %rd3;\n" +
        barrier + "\nld.global.u64 %rd4, [%rd2];\nret;");
  };
  Options races;
  races.races = true;
  Program with(text("bar.warp.sync -1;"), races), without(text(""), races);
  with.run(32), without.run(32);
  EXPECT_TRUE(with.machine.races().empty());
  EXPECT_FALSE(without.machine.races().empty());
}

TEST(Machine, threads_may_run_one_after_another) {
  // Each adds to what its neighbour below wrote: only forward does every neighbour come first.
  const std::string text = entry(
      "add.s64 %rd2, %rd1, -8;\n setp.eq.s32 %p1, %r1, 0;\n mov.b64 %rd4, 0;\n"
      "@!%p1 ld.global.u64 %rd4, [%rd2];\n add.s64 %rd4, %rd4, 1;\n"
      "st.global.u64 [%rd1], %rd4;\n bar.warp.sync -1;\n ret;");
  Options options;
  EXPECT_EQ(Program(text, options).run(32)[31], 1u);
  options.order = Order::kForward;
  EXPECT_EQ(Program(text, options).run(32)[31], 32u);
  options.order = Order::kBackward;
  EXPECT_EQ(Program(text, options).run(32)[31], 1u);
}

TEST(Machine, a_shuffle_gives_each_lane_another_ones_value) {
  const std::string text = entry(
      "setp.lt.u32 %p1, %r1, 8;\n @%p1 bra $l;\n add.s32 %r1, %r1, 0;\n $l: shfl.sync.bfly.b32 %r3|%p2, %r1, 5, 31, "
      "-1;\n cvt.u64.u32 %rd3, %r3;\n"
      "@%p2 st.global.u64 [%rd1], %rd3;\n ret;");
  for (const Order order : {Order::kLockstep, Order::kForward, Order::kBackward}) {
    Options options;
    options.order = order;
    const std::vector<U64> out = Program(text, options).run(64);
    for (U64 t = 0; t < 64; ++t) EXPECT_EQ(out[t], t ^ 5u);
  }
  EXPECT_THAT(Program(entry("setp.lt.u32 %p1, %r1, 8;\n @%p1 bra $l;\n shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n"
                            "$l: bar.warp.sync -1;\n ret;"))
                  .failure(32),
              HasSubstr("wait in a shuffle"));
}

TEST(Machine, a_vote_tells_each_lane_who_votes) {
  const std::string text = entry(
      "setp.lt.u32 %p1, %r1, 8;\n @%p1 bra $l;\n add.s32 %r1, %r1, 0;\n"
      "$l: vote.sync.ballot.b32 %r3, %p1, -1;\n cvt.u64.u32 %rd3, %r3;\n"
      "st.global.u64 [%rd1], %rd3;\n ret;");
  for (const Order order : {Order::kLockstep, Order::kForward, Order::kBackward}) {
    Options options;
    options.order = order;
    const std::vector<U64> out = Program(text, options).run(64);
    for (U64 t = 0; t < 64; ++t) EXPECT_EQ(out[t], t < 32 ? 0xffu : 0u);
  }
}

TEST(Machine, atomics_give_each_thread_a_number_of_its_own) {
  Program program(
      entry("atom.global.add.u32 %r3, [%rd0+4], 1;\n bar.sync 0;\n cvt.u64.u32 %rd3, %r3;\n"
            "setp.eq.s32 %p1, %r1, 0;\n @!%p1 st.global.u64 [%rd1], %rd3;\n ret;"));
  std::vector<U64> out = program.run(64);
  EXPECT_EQ(out[0] >> 32, 64u);
  for (U64 t = 1; t < 64; ++t) EXPECT_EQ(out[t], t);
}

TEST(Machine, what_is_not_allocated_or_not_aligned_is_found_with_its_line) {
  EXPECT_THAT(Program(entry("st.global.u64 [%rd1+8], %rd0;\nret;")).failure(32),
              ::testing::AllOf(HasSubstr("thread 31"), HasSubstr("behind the end of out"), HasSubstr("line 18")));
  EXPECT_THAT(Program(entry("st.global.u32 [%rd1+2], %r1;\nret;")).failure(4), HasSubstr("not aligned"));
  EXPECT_THAT(Program(entry("mov.u64 %rd3, 64;\nld.u32 %r3, [%rd3];\nret;")).failure(1),
              HasSubstr("nothing is allocated"));
  EXPECT_THAT(Program(entry("ld.shared.u64 %rd3, [%rd1];\nret;")).failure(1), HasSubstr("global memory"));
}

TEST(Machine, released_memory_is_not_found_again) {
  Program program(entry("ld.global.u64 %rd3, [%rd0];\nret;"));
  program.run(1);
  ASSERT_TRUE(program.machine.memory().release(program.out));
  EXPECT_FALSE(program.machine.memory().release(program.out));
  const void* arguments[] = {&program.out};
  EXPECT_THROW(program.machine.launch(program.machine.module().entry("run"), {}, {}, 0, arguments), DeviceError);
}

TEST(Machine, local_memory_of_another_thread_is_not_touched) {
  // Thread 0 leaves the address of a local variable where thread 1 finds it.
  EXPECT_THAT(Program(entry(R"(
    .local .align 8 .b8 mine[8];
    mov.u64 %rd3, mine;
    setp.eq.s32 %p1, %r1, 0;
    @%p1 st.global.u64 [%rd0], %rd3;
    bar.warp.sync -1;
    ld.global.u64 %rd4, [%rd0];
    ld.u64 %rd5, [%rd4];
    ret;)"))
                  .failure(2),
              HasSubstr("thread 1 touches 8 bytes"));
}

TEST(Machine, a_barrier_that_cannot_be_met_is_an_error) {
  EXPECT_THAT(Program(entry("setp.eq.s32 %p1, %r1, 3;\n @%p1 ret;\n bar.sync 0;\n ret;")).failure(64),
              ::testing::AllOf(HasSubstr("never be met"), HasSubstr("thread 3 has ended")));
  EXPECT_THAT(Program(entry("setp.lt.u32 %p1, %r1, 32;\n @%p1 bra $l;\n bar.sync 0;\n $l: ret;")).failure(64),
              HasSubstr("never be met"));
  EXPECT_THAT(Program(entry("setp.eq.s32 %p1, %r1, 3;\n @%p1 bra $l;\n bar.sync 0;\n $l: bar.warp.sync -1;\n ret;"))
                  .failure(32),
              HasSubstr("waits at bar.warp.sync"));
}

TEST(Machine, a_loop_without_end_is_an_error) {
  Options options;
  options.backward_limit = 1000;
  Program program(entry("$l: bra.uni $l;"), options);
  EXPECT_THAT(program.failure(1), HasSubstr("does not end"));
}

TEST(Machine, what_it_does_not_know_is_refused_with_line_and_text) {
  EXPECT_THAT(parse_failure(entry("fma.rn.ftz.f32 %f1, %f2, %f3, %f4;\nret;")),
              ::testing::AllOf(HasSubstr("line 18"), HasSubstr("fma.rn.ftz.f32 %f1")));
  // The assembler may fuse what is not rounded by itself.
  EXPECT_THAT(parse_failure(entry("mul.f32 %f1, %f2, %f3;\nret;")), HasSubstr("unknown instruction"));
  EXPECT_THAT(parse_failure(entry("add.s32 %r1, %r2, %rd3;\nret;")), HasSubstr("64 bits as a source"));
  EXPECT_THAT(parse_failure(entry("add.s32 %r1, %r2, %r99;\nret;")), HasSubstr("no register"));
  EXPECT_THAT(parse_failure(entry("bra $nowhere;")), HasSubstr("no label"));
  EXPECT_THAT(parse_failure(entry("call.uni nobody;\nret;")), HasSubstr("no function 'nobody'"));
}

TEST(Machine, integers_are_as_the_isa_says) {
  EXPECT_EQ(compute("shl.b32", "b32", {1, 31}), 0x80000000u);
  EXPECT_EQ(compute("shl.b32", "b32", {1, 32}), 0u);
  EXPECT_EQ(compute("shr.s32", "b32", {0x80000000u, 40}), 0xffffffffu);
  EXPECT_EQ(compute("shr.u32", "b32", {0x80000000u, 40}), 0u);
  EXPECT_EQ(compute("mul.hi.s32", "b32", {0xffffffffu, 5}), 0xffffffffu);
  EXPECT_EQ(compute("mul.hi.u32", "b32", {0xffffffffu, 5}), 4u);
  EXPECT_EQ(compute("div.s32", "b32", {0x80000000u, 0xffffffffu}), 0x80000000u);
  EXPECT_EQ(compute("rem.s32", "b32", {0xfffffff9u, 4}), 0xfffffffdu);
  EXPECT_EQ(compute("prmt.b32", "b32", {0x33221100u, 0x77665544u, 0x7654}), 0x77665544u);
  EXPECT_EQ(compute("prmt.b32", "b32", {0x80221100u, 0x77665544u, 0xb04f}), 0xff004400u);
  EXPECT_EQ(compute("bfi.b32", "b32", {0xab, 0x11111111, 8, 8}), 0x1111ab11u);
  EXPECT_EQ(compute("bfe.s32", "b32", {0x0000ff00, 8, 8}), 0xffffffffu);
  EXPECT_EQ(compute("shf.l.wrap.b32", "b32", {0x80000000u, 1, 1}), 3u);
  EXPECT_EQ(compute("mul.hi.u64", "b64", {~U64(0), 16}), 15u);
  EXPECT_EQ(compute("sub.s64", "b64", {3, 5}), ~U64(1));
}

TEST(Machine, floats_have_the_bits_of_ieee_754) {
  const auto f = [](const char* name, std::vector<float> x) {
    std::vector<U64> operands;
    for (const float value : x) operands.push_back(bits(value));
    std::string body, list = "%f9";
    for (std::size_t k = 0; k < x.size(); ++k) {
      body += "mov.b32 %f1" + std::to_string(k) + ", " + std::to_string(operands[k]) + ";\n";
      list += ", %f1" + std::to_string(k);
    }
    body += std::string(name) + " " + list + ";\nst.global.f32 [%rd1], %f9;\nret;";
    return Program(entry(body)).run(1)[0];
  };
  EXPECT_EQ(f("add.rn.f32", {1.0f, 0x1p-24f}), bits(1.0f));
  EXPECT_EQ(f("add.rz.f32", {1.0f, -0x1p-26f}), bits(std::nextafter(1.0f, 0.0f)));
  EXPECT_EQ(f("add.rz.f32", {3e38f, 3e38f}), bits(3.40282347e38f));
  EXPECT_EQ(f("fma.rn.f32", {1 + 0x1p-23f, 1 - 0x1p-23f, -1.0f}), bits(-0x1p-46f));
  EXPECT_EQ(f("div.rn.f32", {1.0f, 3.0f}), bits(1.0f / 3.0f));
  EXPECT_EQ(f("mul.rn.f32", {0x1p-126f, 0.25f}), bits(0x1p-128f));  // subnormal
  EXPECT_EQ(f("min.f32", {NAN, 2.0f}), bits(2.0f));
  EXPECT_EQ(f("min.f32", {0.0f, -0.0f}), bits(-0.0f));
  EXPECT_EQ(f("max.f32", {-0.0f, 0.0f}), bits(0.0f));
  EXPECT_EQ(f("copysign.f32", {-1.0f, 3.0f}), bits(-3.0f));
  EXPECT_EQ(f("neg.f32", {0.0f}), bits(-0.0f));
  EXPECT_EQ(f("cvt.rni.f32.f32", {2.5f}), bits(2.0f));
}

TEST(Machine, conversions_round_and_clamp) {
  const auto to_int = [](const char* name, float x) {
    return static_cast<U32>(Program(entry("mov.b32 %f1, " + std::to_string(bits(x)) + ";\n" + name +
                                          " %r9, %f1;\nst.global.u32 [%rd1], %r9;\nret;"))
                                .run(1)[0]);
  };
  EXPECT_EQ(to_int("cvt.rni.s32.f32", 2.5f), 2u);
  EXPECT_EQ(to_int("cvt.rni.s32.f32", 3.5f), 4u);
  EXPECT_EQ(to_int("cvt.rzi.s32.f32", -2.9f), U32(-2));
  EXPECT_EQ(to_int("cvt.rmi.s32.f32", -2.1f), U32(-3));
  EXPECT_EQ(to_int("cvt.rzi.s32.f32", 1e20f), 0x7fffffffu);
  EXPECT_EQ(to_int("cvt.rzi.u32.f32", -5.0f), 0u);
  EXPECT_EQ(to_int("cvt.rzi.s32.f32", NAN), 0u);
}

TEST(Machine, comparisons_with_no_number_are_false_unless_unordered) {
  const auto holds = [](const std::string& what) {
    Program program(entry("mov.f32 %f1, 0f7fc00000;\nmov.f32 %f2, 0f3f800000;\nsetp." + what +
                          ".f32 %p1, %f1, %f2;\nselp.b64 %rd3, 1, 0, %p1;\nst.global.u64 [%rd1], %rd3;\nret;"));
    return program.run(1)[0] == 1;
  };
  for (const char* what : {"eq", "ne", "lt", "le", "gt", "ge", "num"}) EXPECT_FALSE(holds(what)) << what;
  for (const char* what : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"}) EXPECT_TRUE(holds(what)) << what;
}

TEST(Machine, warp_instructions_lanes_and_traffic_are_counted) {
  TrafficCounter counter;
  Options options;
  options.observe = [&](const WarpAccess& access) { counter.add(access); };
  // Behind the five of every program: a store of 8 bytes a thread, then of 4 bytes 128 apart in shared memory.
  Program program(entry("st.global.u64 [%rd1], %rd0;\n mov.u32 %r3, s;\n mad.lo.s32 %r4, %r1, 128, %r3;\n"
                        "st.shared.u32 [%r4], %r1;\n ret;",
                        ".extern .shared .align 16 .b8 s[];"),
                  options);
  program.run(48, 48 * 128);
  const Profile profile = make_profile(program.machine.module(), counter);
  EXPECT_EQ(profile.total.counts.issued, 2 * 10u);
  EXPECT_EQ(profile.total.counts.lanes, 48 * 10u);
  EXPECT_EQ(profile.total.classes[int(Class::kStore)], 4u);
  EXPECT_EQ(profile.total.traffic.sectors, 48u / 4);      // 8 bytes of 32 each
  EXPECT_EQ(profile.total.traffic.wavefronts, 32u + 16);  // all in one bank
}

}  // namespace
}  // namespace axion::ptx
