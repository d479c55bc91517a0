// A model's sensors here and C MuJoCo's, number by number: of every named body, geom, site, camera, joint and actuator,
// at random poses and velocities.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "engine/import/mjcf.hpp"
#include "tests/engine/backend/scenes.hpp"
#include "tests/support/mujoco_model.hpp"
#include "tests/support/published_model.hpp"

namespace axion::testing {

// Both engines compute in double; what is left is the rounding of the file's angles and of principal axes.
inline constexpr double kTolerance = 1e-6;

inline std::string name_of(const mjModel& m, int type, int i) {
  const char* name = mj_id2name(&m, type, i);
  return name == nullptr ? "" : name;
}

// Sensors of all that has a name.
inline std::string sensors_of(const mjModel& m) {
  std::ostringstream xml;
  const struct {
    const char* objtype;
    int type, count;
  } frames[] = {{"body", mjOBJ_BODY, m.nbody},
                {"xbody", mjOBJ_BODY, m.nbody},
                {"geom", mjOBJ_GEOM, m.ngeom},
                {"site", mjOBJ_SITE, m.nsite},
                {"camera", mjOBJ_CAMERA, m.ncam}};
  std::vector<std::string> all;
  for (const auto& kind : frames) {
    for (int i = 0; i < kind.count; ++i) {
      const std::string name = name_of(m, kind.type, i);
      if (name.empty()) continue;
      if (kind.type == mjOBJ_CAMERA && m.cam_mode[i] != mjCAMLIGHT_FIXED) continue;
      all.push_back(std::string("type=\"") + kind.objtype + "\" #name=\"" + name + "\"");
    }
  }
  const auto with = [](std::string frame, const std::string& prefix) {
    frame.replace(0, 4, prefix + "type");
    frame.replace(frame.find('#'), 1, prefix == "obj" ? "obj" : "ref");
    return frame;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string reference = i % 2 == 0 ? "" : " " + with(all[(7 * i + 3) % all.size()], "ref");
    for (const char* kind :
         {"framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel"}) {
      xml << "<" << kind << " " << with(all[i], "obj") << reference << "/>\n";
    }
  }
  for (int i = 0; i < m.nsite; ++i) {
    const std::string name = name_of(m, mjOBJ_SITE, i);
    if (name.empty()) continue;
    for (const char* kind : {"velocimeter", "gyro", "magnetometer", "rangefinder"}) {
      xml << "<" << kind << " site=\"" << name << "\"/>\n";
    }
  }
  for (int i = 0; i < m.nbody; ++i) {
    const std::string name = name_of(m, mjOBJ_BODY, i);
    if (name.empty()) continue;
    for (const char* kind : {"subtreecom", "subtreelinvel", "subtreeangmom"}) {
      xml << "<" << kind << " body=\"" << name << "\"/>\n";
    }
  }
  for (int i = 0; i < m.njnt; ++i) {
    const std::string name = name_of(m, mjOBJ_JOINT, i);
    if (name.empty() || m.jnt_type[i] == mjJNT_FREE) continue;
    const bool is_ball = m.jnt_type[i] == mjJNT_BALL;
    xml << "<" << (is_ball ? "ballquat" : "jointpos") << " joint=\"" << name << "\"/>\n";
    xml << "<" << (is_ball ? "ballangvel" : "jointvel") << " joint=\"" << name << "\" cutoff=\"0.7\"/>\n";
    if (is_ball || !m.jnt_limited[i]) continue;
    xml << "<jointlimitpos joint=\"" << name << "\"/>\n<jointlimitvel joint=\"" << name << "\"/>\n";
  }
  for (int i = 0; i < m.ntendon; ++i) {
    const std::string name = name_of(m, mjOBJ_TENDON, i);
    for (const char* kind : {"tendonpos", "tendonvel", "tendonlimitpos", "tendonlimitvel"}) {
      if (kind[6] == 'l' && !m.tendon_limited[i]) continue;
      xml << "<" << kind << " tendon=\"" << name << "\"/>\n";
    }
  }
  for (int i = 0; i < m.nu; ++i) {
    const std::string name = name_of(m, mjOBJ_ACTUATOR, i);
    if (name.empty()) continue;
    for (const char* kind : {"actuatorpos", "actuatorvel", "actuatorfrc"}) {
      xml << "<" << kind << " actuator=\"" << name << "\"/>\n";
    }
  }
  return xml.str() + "<clock/>\n";
}

// Of accelerations and forces.
inline std::string forces_of(const mjModel& m) {
  std::ostringstream xml;
  for (int i = 0; i < m.nsite; ++i) {
    const std::string name = name_of(m, mjOBJ_SITE, i);
    if (name.empty()) continue;
    for (const char* kind : {"accelerometer", "force", "torque"}) {
      // MuJoCo adds torques of the world about several points.
      if (*kind != 'a' && m.site_bodyid[i] == 0) continue;
      xml << "<" << kind << " site=\"" << name << "\"/>\n";
    }
  }
  for (int i = 0; i < m.nbody; ++i) {
    const std::string name = name_of(m, mjOBJ_BODY, i);
    if (name.empty()) continue;
    for (const char* type : {"body", "xbody"}) {
      for (const char* kind : {"framelinacc", "frameangacc"}) {
        xml << "<" << kind << " objtype=\"" << type << "\" objname=\"" << name << "\"/>\n";
      }
    }
  }
  return xml.str();
}

inline std::string with_sensors(std::string xml, const std::string& sensors) {
  xml.insert(xml.rfind("</mujoco>"), "<sensor>\n" + sensors + "</sensor>\n");
  return xml;
}

inline std::string without_sensors(std::string xml) {
  const std::size_t start = xml.find("<sensor>");
  if (start != std::string::npos) xml.erase(start, xml.find("</sensor>") + 9 - start);
  return xml;
}

class Comparison {
 public:
  // dt: of the steps that lead to a state, or of the one whose accelerations and forces are compared.
  explicit Comparison(const std::string& given, bool forces = false, double dt = 0.005) : xml_(without_sensors(given)) {
    const MujocoModel plain = load_mujoco(xml_);
    const std::string sensors = forces ? forces_of(*plain) : sensors_of(*plain);
    m_ = load_mujoco(with_sensors(xml_, sensors));
    m_->opt.enableflags |= mjENBL_ENERGY;
    d_ = MujocoData(mj_makeData(m_.get()));
    std::string more = sensors + "<e_potential/><e_kinetic/>";
    for (int i = 0; i < m_->njnt; ++i) {
      const std::string name = name_of(*m_, mjOBJ_JOINT, i);
      if (m_->jnt_type[i] < mjJNT_SLIDE || name.empty()) continue;
      more += "<jointactuatorfrc joint=\"" + name + "\"/>";
      forces_of_.push_back(m_->jnt_dofadr[i]);
    }
    auto imported = import::import_mjcf(with_sensors(xml_, more), {.allow_unsupported = true, .assets = {}});
    if (!imported.ok()) throw std::runtime_error(imported.error().message);
    model_ = compile_scene(imported.value().scene);
    engine_ = cpu_engine();
    BatchSpec spec = batch_spec(model_, 1, model::Precision::kFloat64);
    spec.dt = dt;
    batch_ = take(engine_->create_batch(spec));
  }

  // The greatest error of accelerations and forces over some states, each of which makes one step.
  double force_error(int states) {
    double worst = 0;
    for (int k = 0; k < states; ++k) {
      scatter(1.0);
      step(*engine_, *batch_, 1, std::vector<double>(d_->ctrl, d_->ctrl + m_->nu));
      const std::vector<double> ours = read(*batch_, Field::kSensorData, {0});
      for (int i = 0; i < m_->nsensor; ++i) {
        double size = 10, error = 0;
        for (int a = m_->sensor_adr[i]; a < m_->sensor_adr[i] + m_->sensor_dim[i]; ++a) {
          size = std::max(size, std::abs(d_->sensordata[a]));
          error = std::max(error, std::abs(ours[static_cast<std::size_t>(a)] - d_->sensordata[a]));
        }
        if (error / size > worst) worst = error / size, worst_ = sensor_text(i);
      }
    }
    return worst;
  }
  const std::string& worst() const { return worst_; }

  void run(int poses) {
    for (int k = 0; k < poses; ++k) {
      scatter(1.5);
      compare(k);
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  double uniform() { return std::uniform_real_distribution<double>(-1, 1)(random_); }

  void scatter(double spread) {
    std::vector<double> q, v, u;
    for (int i = 0; i < m_->nu; ++i) u.push_back(d_->ctrl[i] = 2 * uniform());
    for (int i = 0; i < m_->nv; ++i) d_->qvel[i] = spread * uniform();
    for (int i = 0; i < m_->nq; ++i) d_->qpos[i] = m_->qpos0[i] + spread * uniform();
    mj_normalizeQuat(m_.get(), d_->qpos);
    mj_forward(m_.get(), d_.get());
    const auto put = [](std::vector<double>& to, const mjtNum* from, int n) { to.insert(to.end(), from, from + n); };
    for (int j = 0; j < m_->njnt; ++j) {
      const mjtNum *qj = d_->qpos + m_->jnt_qposadr[j], *vj = d_->qvel + m_->jnt_dofadr[j];
      const int b = m_->jnt_bodyid[j];
      mjtNum w[3], r[3], c[3];
      switch (m_->jnt_type[j]) {
        case mjJNT_FREE: {
          put(q, qj, 7);
          mju_rotVecQuat(w, vj + 3, qj + 3);
          // The centre of mass of what moves as one.
          const int root = b;
          mju_copy3(r, centre(root));
          mju_sub3(r, r, d_->xpos + 3 * b);
          mju_cross(c, w, r);
          mju_addTo3(c, vj);
          put(v, c, 3), put(v, w, 3);
          break;
        }
        case mjJNT_BALL:
          put(q, qj, 4);
          mju_rotVecQuat(w, vj, d_->xquat + 4 * b);
          mju_negQuat(c_, d_->xquat + 4 * m_->body_parentid[b]);
          mju_rotVecQuat(r, w, c_);
          put(v, r, 3);
          break;
        default:
          put(q, qj, 1), put(v, vj, 1);
      }
    }
    check(batch_->reset({}));
    step(*engine_, *batch_, 1, u);
    StateUpdate state;
    state.joint_position = input(q, static_cast<int>(q.size()));
    state.joint_velocity = input(v, static_cast<int>(v.size()));
    const double time[1] = {0};
    d_->time = 0;
    state.time = {reinterpret_cast<const std::byte*>(time), DType::kFloat64, 8, 0};
    check(batch_->set_state({}, state));
  }

  // Of a body and what is welded to it.
  const mjtNum* centre(int body) {
    mjtNum mass = 0;
    mju_zero3(centre_);
    for (int b = 1; b < m_->nbody; ++b) {
      if (m_->body_weldid[b] != body) continue;
      mass += m_->body_mass[b];
      mju_addToScl3(centre_, d_->xipos + 3 * b, m_->body_mass[b]);
    }
    mju_scl3(centre_, centre_, 1 / mass);
    return centre_;
  }

  void compare(int pose) {
    const std::vector<double> ours = read(*batch_, Field::kSensorData, {0});
    ASSERT_EQ(ours.size(), static_cast<std::size_t>(m_->nsensordata) + 2 + forces_of_.size());
    const ModelInfo& info = model_->info();
    for (int i = 0; i < m_->nsensor; ++i) {
      const mjtNum* theirs = d_->sensordata + m_->sensor_adr[i];
      const double* own = ours.data() + m_->sensor_adr[i];
      const bool is_quaternion = m_->sensor_type[i] == mjSENS_FRAMEQUAT || m_->sensor_type[i] == mjSENS_BALLQUAT;
      double size = 1, plus = 0, minus = 0;
      for (int k = 0; k < m_->sensor_dim[i]; ++k) {
        size = std::max(size, std::abs(theirs[k]));
        minus = std::max(minus, std::abs(own[k] - theirs[k])), plus = std::max(plus, std::abs(own[k] + theirs[k]));
      }
      const double error = is_quaternion ? std::min(plus, minus) : minus;
      EXPECT_LE(error, kTolerance * size) << "pose " << pose << ", " << sensor_text(i) << ": " << own[0] << " beside "
                                          << theirs[0] << ", " << info.sensors[static_cast<std::size_t>(i)].name;
    }
    mj_energyPos(m_.get(), d_.get());
    mj_energyVel(m_.get(), d_.get());
    const std::size_t at = static_cast<std::size_t>(m_->nsensordata);
    for (int k = 0; k < 2; ++k) {
      EXPECT_NEAR(ours[at + static_cast<std::size_t>(k)], d_->energy[k],
                  kTolerance * std::max(1.0, std::abs(d_->energy[k])))
          << (k == 0 ? "potential" : "kinetic") << " energy, pose " << pose;
    }
    for (std::size_t k = 0; k < forces_of_.size(); ++k) {
      const double theirs = d_->qfrc_actuator[forces_of_[k]];
      EXPECT_NEAR(ours[at + 2 + k], theirs, kTolerance * std::max(1.0, std::abs(theirs))) << "actuators of a joint";
    }
  }

  std::string sensor_text(int i) const {
    static constexpr const char* kKinds[] = {
        "touch",         "accelerometer", "velocimeter",    "gyro",           "force",          "torque",
        "magnetometer",  "rangefinder",   "jointpos",       "jointvel",       "tendonpos",      "tendonvel",
        "actuatorpos",   "actuatorvel",   "actuatorfrc",    "ballquat",       "ballangvel",     "jointlimitpos",
        "jointlimitvel", "jointlimitfrc", "tendonlimitpos", "tendonlimitvel", "tendonlimitfrc", "framepos",
        "framequat",     "framexaxis",    "frameyaxis",     "framezaxis",     "framelinvel",    "frameangvel",
        "framelinacc",   "frameangacc",   "subtreecom",     "subtreelinvel",  "subtreeangmom",  "clock"};
    const int type = m_->sensor_type[i];
    return std::string(type < 36 ? kKinds[type] : "user") + " of " +
           name_of(*m_, m_->sensor_objtype[i] == mjOBJ_XBODY ? mjOBJ_BODY : m_->sensor_objtype[i], m_->sensor_objid[i]);
  }

  std::string xml_;
  MujocoModel m_;
  MujocoData d_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Batch> batch_;
  std::vector<int> forces_of_;  // dofs
  std::string worst_;
  std::mt19937 random_{17};
  mjtNum centre_[3], c_[4];
};

}  // namespace axion::testing
