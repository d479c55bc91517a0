#include "clients/cli/flags.hpp"

#include "absl/flags/flag.h"

using Words = std::vector<std::string>;

ABSL_FLAG(std::string, server, "127.0.0.1:8470",
          "address of the server, host:port; without a port 8470 (AXION_SERVER)");
ABSL_FLAG(bool, json, false, "print JSON for programs instead of text for people");
ABSL_FLAG(absl::Duration, timeout, absl::InfiniteDuration(), "of each call, for example 500ms or 10s");

ABSL_FLAG(std::string, token, "",
          "token of the tenant; better by AXION_TOKEN, since everybody on this machine can read command lines");
ABSL_FLAG(bool, tls, false, "TLS with the system's authorities (AXION_TLS=1)");
ABSL_FLAG(std::string, tls_ca, "", "TLS with these authorities: a file of PEM (AXION_TLS_CA)");
ABSL_FLAG(std::string, tls_cert, "", "this client's own certificate, a file of PEM (AXION_TLS_CERT)");
ABSL_FLAG(std::string, tls_key, "", "and its key (AXION_TLS_KEY)");
ABSL_FLAG(std::string, tls_server_name, "",
          "what the server's certificate is for, where that is not the address (AXION_TLS_SERVER_NAME)");
ABSL_FLAG(bool, insecure_token, false, "send the token to another machine without TLS");
ABSL_FLAG(std::string, name, "", "snapshot save: what people call it");
ABSL_FLAG(std::string, out, "", "snapshot save: file for its bytes, which restore takes on any server");
ABSL_FLAG(bool, keep, true, "snapshot save: the server keeps it; else --out alone has it");
ABSL_FLAG(std::string, tenant, "", "whose the new token is");

ABSL_FLAG(int32_t, worlds, 1, "worlds in the batch; for create, 0 makes the model only");
ABSL_FLAG(double, dt, 0, "time step in seconds; 0 takes the model's");
ABSL_FLAG(std::string, preset, "", "solver preset: default, axion_seed or velocity");
ABSL_FLAG(std::string, precision, "", "float32 (the default) or float64");
ABSL_FLAG(double, tolerance, 0, "solver tolerance as a multiple of g dt; 0 takes the preset's");
ABSL_FLAG(Words, options, {},
          "further solver options, name=value separated by commas, for example joint_mode=current,baumgarte=0.3; the "
          "names and choices are in clients/README.md");
ABSL_FLAG(uint64_t, seed, 0, "seed of the initial noise");
ABSL_FLAG(double, noise, 0, "half width of the uniform noise on initial joint positions, rad or m");
ABSL_FLAG(absl::Duration, idle_ttl, absl::ZeroDuration(),
          "the batch is deleted when nobody has named it for this long; 0 takes the server's default");
ABSL_FLAG(Words, assets, {}, "files that the scene file names beside it: name=path or path, separated by commas");
ABSL_FLAG(
    Words, file_folders, {},
    "further folders, separated by commas, of which files that the scene file names may be sent; else those below "
    "its own folder, and meshes of its package or checkout");
ABSL_FLAG(bool, allow_unsupported, false, "take scenes with elements that are not supported; they become warnings");

ABSL_FLAG(std::string, base, "fixed", "of a URDF file: the root link is fixed to the world, or free");
ABSL_FLAG(double, base_height, 0, "of a URDF file: z of the root link, m");
ABSL_FLAG(bool, motors, false, "of a URDF file: a motor along every axis, within its limit of effort");
ABSL_FLAG(bool, ground, false, "of a URDF file: add a plane at z = 0");
ABSL_FLAG(bool, self_collision, true, "of a URDF file: links that are not neighbours may touch each other");
ABSL_FLAG(bool, keep_overlaps, false, "of a URDF file: links that overlap at the start may touch each other, too");
ABSL_FLAG(bool, massless, false, "of a URDF file: links without <inertial> have no mass; else that of their shapes");

ABSL_FLAG(
    Words, shape_overrides, {},
    "what MJCF has no words for, NAME.CHANGE=VALUE separated by commas; CHANGE is restitution, contact_stiffness or "
    "contact_damping, no NAME is every shape: ball.restitution=0.8,.contact_stiffness=1e5");
ABSL_FLAG(Words, joint_overrides, {}, "likewise for joints: lock_stiffness or lock_damping");

ABSL_FLAG(int32_t, steps, 1, "steps in a call");
ABSL_FLAG(Words, control, {}, "one row of controls for every world, separated by commas; empty keeps the last");
ABSL_FLAG(std::string, hold, "", "keyframe whose joint positions the position actuators hold");
ABSL_FLAG(Words, outputs, {}, "names of fields to return, for example body_pose,joint_velocity");
ABSL_FLAG(Words, show, {"0"}, "indices of the worlds to print, separated by commas");

ABSL_FLAG(Words, only, {}, "indices of the worlds to start again, separated by commas; empty is all");

ABSL_FLAG(double, seconds, 10, "simulated seconds to run");
ABSL_FLAG(double, every, 0.02, "simulated seconds between records");
ABSL_FLAG(Words, trace, Words({"body_pose:0", "body_pose:2"}),
          "what to record: field:index, where index counts the field's numbers within one world; "
          "body_pose:2 is the height of the first body");
ABSL_FLAG(int32_t, trace_worlds, 8, "worlds to record, from the first");
ABSL_FLAG(std::string, keyframe, "", "reset to this keyframe first");
ABSL_FLAG(std::string, csv, "", "write the records to this file");

ABSL_FLAG(Words, fields, {}, "names of fields to print; empty prints all");

ABSL_FLAG(bool, per_world, false, "also a row for the last step of each world");
ABSL_FLAG(absl::Duration, interval, absl::Seconds(1), "time between looks");
ABSL_FLAG(int32_t, count, 0, "looks before it ends; 0 goes on until interrupted");

ABSL_FLAG(absl::Duration, wait, absl::InfiniteDuration(), "how long to wait until the server has ended");

ABSL_FLAG(int32_t, calls, 200, "calls to measure");
ABSL_FLAG(int32_t, in_flight, 4, "calls that a stream sends ahead of their answers");
