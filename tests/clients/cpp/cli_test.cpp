#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "absl/flags/reflection.h"
#include "clients/cli/channel_names.hpp"
#include "clients/cli/commands.hpp"
#include "clients/cli/print.hpp"
#include "clients/cli/scene_files.hpp"
#include "clients/cli/solver_choices.hpp"
#include "clients/cli/trace.hpp"
#include "clients/cpp/tensor.hpp"

namespace axion::cli {
namespace {

std::string temporary(const std::string& name) { return testing::TempDir() + "/axion_cli_test_" + name; }

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

v1::Tensor tensor_of(const std::vector<double>& values, std::initializer_list<std::int64_t> shape) {
  return *client::make_tensor(std::span<const double>(values), shape, "x");
}

TEST(SceneFiles, urdf_is_known_by_its_name_or_its_root) {
  EXPECT_TRUE(is_urdf("a.URDF", ""));
  EXPECT_TRUE(is_urdf("a.xml", "<?xml version='1.0'?>\n<!-- <mujoco> --> <robot name='a'/>"));
  EXPECT_FALSE(is_urdf("a.xml", "<!-- <robot> --><mujoco/>"));
  EXPECT_FALSE(is_urdf("a.xml", "<!-- open"));
  EXPECT_FALSE(is_urdf("a.xml", ""));
}

TEST(SceneFiles, bytes_that_are_no_utf8_are_replaced_one_by_one) {
  const std::string good = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\xA4\x96", mark = "\xEF\xBF\xBD";
  EXPECT_EQ(as_utf8(good), good);
  EXPECT_EQ(as_utf8(""), "");
  EXPECT_EQ(as_utf8("90\xB0 x"), "90" + mark + " x");                 // another encoding
  EXPECT_EQ(as_utf8("\xE2\x82"), mark + mark);                        // cut off
  EXPECT_EQ(as_utf8("\xC0\xAF"), mark + mark);                        // overlong
  EXPECT_EQ(as_utf8("\xE0\x80\xAF"), mark + mark + mark);             // overlong
  EXPECT_EQ(as_utf8("\xED\xA0\x80"), mark + mark + mark);             // a surrogate
  EXPECT_EQ(as_utf8("\xF4\x90\x80\x80"), mark + mark + mark + mark);  // beyond the last character
}

TEST(SceneFiles, meshes_that_collide_are_found_by_every_form_of_their_name) {
  namespace fs = std::filesystem;
  const fs::path folder = temporary("package");
  fs::create_directories(folder / "my_robot" / "urdf");
  fs::create_directories(folder / "my_robot" / "meshes");
  std::ofstream(folder / "my_robot" / "meshes" / "arm.stl") << "arm";
  const std::string path = (folder / "my_robot" / "urdf" / "robot.urdf").string();
  const auto meshes = [&](const std::string& name, const std::string& before = "") {
    return *meshes_of_urdf(path, before +
                                     "<robot><link><collision name='c'><geometry><mesh scale='1 1 1' filename = \"" +
                                     name + "\"/></geometry></collision></link></robot>");
  };
  const std::string absolute = "file://" + (folder / "my_robot" / "meshes" / "arm.stl").string();
  for (const std::string& name : {std::string("package://my_robot/meshes/arm.stl"), std::string("../meshes/arm.stl"),
                                  std::string("package://other/meshes/arm.stl"), absolute}) {
    EXPECT_EQ(meshes(name), (std::map<std::string, std::string>{{name, "arm"}})) << name;
  }
  // Relative to a root of assets, or of a package that is none.
  std::ofstream(folder / "my_robot" / "urdf" / "plate.stl") << "plate";
  EXPECT_EQ(meshes("my_robot/meshes/arm.stl").count("my_robot/meshes/arm.stl"), 1u);
  EXPECT_EQ(meshes("meshes/arm.stl").count("meshes/arm.stl"), 1u);
  EXPECT_EQ(meshes("package://plate.stl").count("package://plate.stl"), 1u);
  EXPECT_TRUE(meshes("../meshes/absent.stl").empty());
  EXPECT_TRUE(meshes("").empty());
  EXPECT_EQ(meshes("../meshes/arm.stl", "<!--" + std::string(1 << 20, '<') + "-->").size(), 1u);
  EXPECT_TRUE(meshes_of_urdf(path, "<!-- <collision><mesh filename='../meshes/arm.stl'/></collision> -->")->empty());
  EXPECT_TRUE(meshes_of_urdf(path, "<visual><mesh filename='../meshes/arm.stl'/></visual>")->empty());
  EXPECT_TRUE(meshes_of_urdf(path, "<collision><mesh filename='../meshes/arm.stl")->size() <= 1);  // cut short
  fs::remove_all(folder);
}

TEST(SceneFiles, what_mjcf_refers_to_is_found_in_the_folder_of_each_model) {
  namespace fs = std::filesystem;
  const fs::path folder = temporary("mjcf");
  const auto write = [&](const char* name, const char* content) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << content;
  };
  write("parts/arm.xml",
        "<mujoco><compiler meshdir='meshes'/><asset><mesh file='arm.STL'/><model file='hand.xml'/>"
        "</asset><include file=\"joints.xml\"/></mujoco>");
  write("parts/joints.xml", "<mujoco/>");
  write("parts/hand.xml", "<mujoco><asset><model file='arm.xml'/><hfield file='hills.png'/></asset></mujoco>");
  write("parts/hills.png", "hills");
  write("parts/meshes/arm.STL", "arm");
  write("own/trunk.obj", "trunk");
  const std::string main =
      "<mujoco><!-- <include file='parts/joints.xml'/> --><compiler angle='radian' meshdir='own'/><asset><model "
      "name='a' "
      "file='parts/arm.xml'/><mesh name='t' file='trunk.obj'/><mesh file='absent.stl'/><texture file='own/trunk.obj'/>"
      "<model file='absent.xml'/></asset></mujoco>";
  std::vector<std::string> names;
  const auto files = *files_of_mjcf((folder / "robot.xml").string(), main);
  for (const auto& [name, content] : files) {
    names.push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"own/trunk.obj", "parts/arm.xml", "parts/hand.xml", "parts/hills.png",
                                             "parts/joints.xml", "parts/meshes/arm.STL"}));
  EXPECT_EQ(files.at("own/trunk.obj"), "trunk");
  write("parts/b.stl", "relative");
  EXPECT_EQ(files_of_mjcf((folder / "robot.xml").string(), "<include file='parts/leg.xml'/>")->size(), 0u);
  write("parts/leg.xml", "<mujoco><asset><mesh file='b.stl'/></asset></mujoco>");
  EXPECT_EQ(files_of_mjcf((folder / "robot.xml").string(), "<include file='parts/leg.xml'/>")->at("b.stl"), "relative");
  // Beside an included document without the folder of meshes, but not beside the model's own.
  write("parts/leg.xml", "<mujoco><compiler meshdir='own'/><asset><mesh file='b.stl'/></asset></mujoco>");
  EXPECT_EQ(files_of_mjcf((folder / "robot.xml").string(), "<include file='parts/leg.xml'/>")->at("own/b.stl"),
            "relative");
  EXPECT_TRUE(files_of_mjcf((folder / "parts/leg.xml").string(),
                            "<mujoco><compiler meshdir='own'/><asset><mesh file='b.stl'/></asset></mujoco>")
                  ->empty());
  EXPECT_TRUE(files_of_mjcf((folder / "robot.xml").string(), "<include file='robot")->empty());  // cut short
  fs::remove_all(folder);
}

// Two worlds, two records, fields of three numbers; channel 2.
Trace small_trace() {
  Trace trace({{"body_pose", 2}}, 2);
  const v1::Tensor tensor = tensor_of({0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4}, {2, 2, 3});
  EXPECT_TRUE(trace.append({0.1, 0.2}, {&tensor}).ok());
  return trace;
}

TEST(SceneFiles, what_is_outside_of_the_folder_is_not_sent_and_the_error_names_it) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::canonical(testing::TempDir()) / "axion_cli_test_outside";
  fs::remove_all(folder);
  const auto write = [&](const char* name, const std::string& content) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << content;
    return (folder / name).string();
  };
  const std::string key = write("home/.ssh/id_rsa", "KEY");
  write("home/secret.txt", "<mujoco/>");
  write("home/secret.stl", "SECRET");
  fs::create_directories(folder / "home/models/.git/a");  // a checkout, whose own files stay in it too
  write("home/models/.git/config.stl", "token");
  fs::create_symlink("../secret.stl", folder / "home/models/link.stl");
  const std::string document = (folder / "home/models/evil.xml").string();
  const auto expect_refused = [&](const auto& found, const std::string& attribute, const fs::path& file) {
    const std::string message(found.status().message());
    EXPECT_NE(message.find(attribute + " of " + (folder / "home/models").string()), message.npos) << message;
    EXPECT_NE(message.find(" is " + file.string() + ", "), message.npos) << message;
    EXPECT_NE(message.find("--file_folders=" + file.parent_path().string() + " "), message.npos) << message;
  };
  for (const auto& [tag, name, file] :
       std::vector<std::array<std::string, 3>>{{"include", key, "home/.ssh/id_rsa"},
                                               {"include", "../secret.txt", "home/secret.txt"},
                                               {"hfield", key, "home/.ssh/id_rsa"},
                                               {"model", "../secret.txt", "home/secret.txt"},
                                               {"mesh", "../secret.stl", "home/secret.stl"},
                                               {"mesh", "link.stl", "home/secret.stl"},
                                               {"mesh", ".git/config.stl", "home/models/.git/config.stl"}}) {
    const std::string attribute = "<" + tag + " file=\"" + name + "\">", text = "<mujoco>" + attribute + "</mujoco>";
    expect_refused(files_of_mjcf(document, text), attribute, folder / file);
    EXPECT_EQ(files_of_mjcf(document, text, {(folder / file).parent_path().string()})->size(), 1u) << text;
  }
  const auto urdf = [&](const std::string& name) {
    return meshes_of_urdf((folder / "home/models/evil.urdf").string(),
                          "<robot><link><collision><mesh filename=\"" + name + "\"/></collision></link></robot>");
  };
  for (const std::string name : {"package://home/secret.stl", "../secret.stl", "secret.stl"}) {
    expect_refused(urdf(name), "<mesh filename=\"" + name + "\">", folder / "home/secret.stl");
  }
  write("home/package.xml", "<package/>");
  EXPECT_EQ(urdf("package://home/secret.stl")->size(), 1u);
  fs::remove_all(folder);
}

TEST(Commands, every_flag_that_help_names_exists) {
  for (const Command& command : commands()) {
    for (const char* flag : command.flags) {
      EXPECT_NE(absl::FindCommandLineFlag(flag), nullptr) << command.name << " --" << flag;
    }
  }
}

TEST(Commands, names_are_distinct) {
  std::set<std::string> names;
  for (const Command& command : commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
  }
}

TEST(Completion, every_shell_is_told_every_command_and_flag) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    testing::internal::CaptureStdout();
    EXPECT_TRUE(run_completion({client::Client::connect("127.0.0.1:1"), {shell}, false}).ok());
    const std::string script = testing::internal::GetCapturedStdout();
    for (const Command& command : commands()) {
      EXPECT_NE(script.find(command.name), std::string::npos) << shell << " " << command.name;
      for (const char* flag : command.flags) {
        EXPECT_NE(script.find(flag), std::string::npos) << shell << " --" << flag;
      }
    }
  }
  EXPECT_FALSE(run_completion({client::Client::connect("127.0.0.1:1"), {"csh"}, false}).ok());
}

TEST(SolverChoices, every_option_can_be_set_by_its_name) {
  const auto* descriptor = v1::SolverOptions::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    v1::SolverOptions options;
    std::string word = "0.5";
    if (field->cpp_type() == field->CPPTYPE_BOOL) word = "false";
    if (field->cpp_type() == field->CPPTYPE_INT32) word = "7";
    if (field->cpp_type() == field->CPPTYPE_ENUM) {
      const std::string unspecified = field->enum_type()->value(0)->name(),
                        first = field->enum_type()->value(1)->name();
      word = first.substr(unspecified.size() - std::string("UNSPECIFIED").size());
    }
    const absl::Status status = set_solver_option(field->name(), word, options);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(options.GetReflection()->HasField(options, field)) << field->name() << "=" << word;
  }
}

TEST(SolverChoices, words_are_choices_in_either_case_and_numbers) {
  v1::SolverOptions options;
  ASSERT_TRUE(set_solver_option("preset", "velocity", options).ok());
  ASSERT_TRUE(set_solver_option("linear_solver", "PCR_Tree", options).ok());
  ASSERT_TRUE(set_solver_option("half_step_start", "false", options).ok());
  ASSERT_TRUE(set_solver_option("baumgarte", "0.3", options).ok());
  EXPECT_EQ(options.preset(), v1::SOLVER_PRESET_VELOCITY);
  EXPECT_EQ(options.linear_solver(), v1::LINEAR_SOLVER_PCR_TREE);
  EXPECT_TRUE(options.has_half_step_start() && !options.half_step_start());
  EXPECT_EQ(options.baumgarte(), 0.3);
}

TEST(SolverChoices, what_is_no_choice_is_refused_with_those_that_there_are) {
  v1::SolverOptions options;
  const auto message = [&](const char* name, const char* word) {
    return std::string(set_solver_option(name, word, options).message());
  };
  EXPECT_NE(message("preset", "seed").find("default, axion_seed, velocity"), std::string::npos)
      << message("preset", "");
  EXPECT_NE(message("joint_mod", "current").find("joint_mode"), std::string::npos);
  EXPECT_NE(message("baumgarte", "much").find("baumgarte=much"), std::string::npos);
  EXPECT_NE(message("line_search", "perhaps").find("true, false"), std::string::npos);
  EXPECT_NE(message("max_newton_iterations", "1.5").find("1.5"), std::string::npos);
  EXPECT_NE(message("preset", "unspecified").find("none of"), std::string::npos);
  EXPECT_EQ(options.ByteSizeLong(), 0u);
}

TEST(Trace, channel_is_field_and_index) {
  const auto channel = parse_channel("body_pose:2");
  ASSERT_TRUE(channel.ok());
  EXPECT_EQ(channel->field, "body_pose");
  EXPECT_EQ(channel->index, 2);
  for (const char* wrong : {"", ":2", "body_pose:", "body_pose:x", "body_pose:-1"}) {
    EXPECT_FALSE(parse_channel(wrong).ok()) << wrong;
  }
}

TEST(Trace, keeps_the_value_of_each_record_and_world) {
  const Trace trace = small_trace();
  EXPECT_EQ(trace.value(0, 0, 0), 1);
  EXPECT_EQ(trace.value(1, 0, 0), 2);
  EXPECT_EQ(trace.value(0, 1, 0), 3);
  EXPECT_EQ(trace.value(1, 1, 0), 4);
}

TEST(Trace, answer_of_another_shape_and_index_past_the_field_are_refused) {
  Trace trace({{"body_pose", 3}}, 2);
  const v1::Tensor short_field = tensor_of(std::vector<double>(6), {2, 1, 3});
  EXPECT_EQ(trace.append({0.1}, {&short_field}).code(), absl::StatusCode::kOutOfRange);
  const v1::Tensor one_world = tensor_of(std::vector<double>(4), {1, 1, 4});
  EXPECT_EQ(trace.append({0.1}, {&one_world}).code(), absl::StatusCode::kInternal);
}

TEST(Trace, csv_has_a_row_for_each_record_and_world) {
  const std::string path = temporary("trace.csv");
  ASSERT_TRUE(small_trace().write_csv(path).ok());
  EXPECT_EQ(content_of(path), "time,world,body_pose:2\n0.1,0,1\n0.1,1,3\n0.2,0,2\n0.2,1,4\n");
  std::filesystem::remove(path);
  EXPECT_FALSE(small_trace().write_csv("/nowhere/trace.csv").ok());
}

TEST(Channels, numbers_are_called_by_what_they_belong_to_with_their_units) {
  v1::Model model;
  model.add_bodies()->set_name("trunk");
  model.add_bodies();
  v1::JointInfo& free = *model.add_joints();
  free.set_name("root");
  free.set_kind(v1::JOINT_KIND_FREE);
  free.set_position_count(7);
  free.set_velocity_count(6);
  v1::JointInfo& ball = *model.add_joints();
  ball.set_name("neck");
  ball.set_kind(v1::JOINT_KIND_BALL);
  ball.set_position_start(7);
  ball.set_position_count(4);
  ball.set_velocity_start(6);
  ball.set_velocity_count(3);
  v1::JointInfo& axes = *model.add_joints();
  axes.set_name("knee");
  axes.set_kind(v1::JOINT_KIND_AXES);
  axes.set_position_start(11);
  axes.set_position_count(2);
  axes.set_velocity_start(9);
  axes.set_velocity_count(2);
  axes.add_axes()->set_kind(v1::AXIS_KIND_SLIDE);
  axes.add_axes()->set_kind(v1::AXIS_KIND_HINGE);
  axes.mutable_axes(1)->set_name("bend");
  model.add_actuators()->set_name("motor");
  v1::SensorInfo& sensor = *model.add_sensors();
  sensor.set_name("gyro");
  sensor.set_size(3);
  const std::map<std::string, std::string> names{{"body_pose:2", "trunk z (m)"},
                                                 {"body_velocity:5", "trunk wz (rad/s)"},
                                                 {"body_pose:9", ""},
                                                 {"body_pose:99", ""},
                                                 {"joint_position:3", "root qw"},
                                                 {"joint_velocity:2", "root vz (m/s)"},
                                                 {"joint_position:7", "neck qw"},
                                                 {"joint_velocity:6", "neck wx (rad/s)"},
                                                 {"joint_position:11", "knee position (m)"},
                                                 {"joint_velocity:10", "bend velocity (rad/s)"},
                                                 {"control:0", "motor control"},
                                                 {"control:1", ""},
                                                 {"sensor_data:2", "gyro [2]"},
                                                 {"joint_impulse:6", "neck Jx (N s)"},
                                                 {"sensor_data:3", ""},
                                                 {"break_ratio:0", ""}};
  for (const auto& [word, name] : names) {
    EXPECT_EQ(channel_name(model, *parse_channel(word)), name) << word;
  }
}

TEST(Print, quantile_is_the_bound_of_its_bin) {
  v1::BinnedCounts counts;
  for (const double bound : {1., 2., 4.}) counts.add_bounds(bound);
  for (const int count : {1, 2, 0, 1}) counts.add_counts(count);
  counts.set_sum(15);
  EXPECT_EQ(mean_of(counts), 3.75);
  EXPECT_EQ(quantile_text(counts, 0.5), "2");
  EXPECT_EQ(quantile_text(counts, 0.99), ">4");
  EXPECT_EQ(quantile_text(v1::BinnedCounts(), 0.5), "-");
}

TEST(Print, tensors_become_nested_lists) {
  EXPECT_EQ(tensor_json(tensor_of({1, 2, 3, 4}, {2, 2})).dump(), "[[1.0,2.0],[3.0,4.0]]");
  EXPECT_EQ(outcome_text(v1::OUTCOME_CONVERGED | v1::OUTCOME_FALLBACK), "CONVERGED|FALLBACK");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
}

}  // namespace
}  // namespace axion::cli
