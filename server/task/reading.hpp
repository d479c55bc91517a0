// What a task reads of one world's state: quantities, from the engine's fields and contacts.
#pragma once

#include <span>
#include <vector>

#include "engine/engine.hpp"

#include "server/task/task.hpp"

namespace axion::server::task {

// Numbers of one world, for as long as a reading lasts.
struct WorldNumbers {
  std::span<const double> fields;  // as Task::fields, one after the other
  std::span<const ContactInfo> contacts;
  std::span<const double> command;
  std::span<const double> action, previous_action;
  std::span<const double> draws, phases, levels;  // levels from 0 to 1
  std::span<const double> tracked;                // kTrackedNumbers of each of Task::tracked
};

// Reads quantities of worlds, one world after another; keeps what several quantities of a world need.
class Reading {
 public:
  explicit Reading(const Task& task);
  void look_at(const WorldNumbers& world);
  // q.size numbers.
  void read(const Quantity& q, double* out);
  // N, of all contacts of the last step on a body, |force|.
  double contact_force(int body);

 private:
  struct Frame {
    Vec3 p{};  // m, world
    Mat3 R = Mat3::identity();
  };
  const double* field(Field field) const;
  void place_bodies();
  void place_subtrees();
  void add_contacts();
  Vec3 velocity_of(int body, const Vec3& p_W) const;  // of the point of a body that is at p_W, world
  Vec3 angular_velocity_of(int body) const;
  void read_whole(const Quantity& q);  // into whole_
  void read_body(const Quantity& q, int body, double* out);
  void read_tracked(const Quantity& q);
  void read_generalized_velocity();
  void read_all_bodies(QuantityKind kind);

  const Task& task_;
  std::vector<int> offset_;  // of each field in WorldNumbers::fields, by Field; -1: not read
  WorldNumbers world_;
  bool placed_ = false, subtrees_placed_ = false, contacts_added_ = false;
  std::vector<Frame> owners_;  // of the bodies of the fields
  std::vector<Frame> frames_;  // of the scene's bodies
  std::vector<Vec3> subtree_;  // m, by root: centre of mass of all that hangs on it
  std::vector<double> subtree_mass_;
  Vec3 center_of_mass_{};
  std::vector<Vec3> force_, torque_;  // N, N m about the origin of the world, of the scene's bodies
  std::vector<double> whole_;
};

}  // namespace axion::server::task
