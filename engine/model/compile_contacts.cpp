#include "engine/model/compile_contacts.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "engine/base/stop.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::model {
namespace {

static_assert(kMaxSceneShapes <= kMostShapes);

// Rising lists, one for each of `count` things: who is not to be touched. Both directions of each couple.
void make_lists(int count, std::vector<std::array<int, 2>> couples, std::vector<int>& start, std::vector<int>& list) {
  const std::size_t given = couples.size();
  for (std::size_t i = 0; i < given; ++i) couples.push_back({couples[i][1], couples[i][0]});
  std::sort(couples.begin(), couples.end());
  couples.erase(std::unique(couples.begin(), couples.end()), couples.end());
  start.assign(static_cast<std::size_t>(count) + 1, 0);
  for (const auto& couple : couples) {
    ++start[static_cast<std::size_t>(couple[0]) + 1];
    list.push_back(couple[1]);
  }
  for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
}

// What a shape can touch, in contacts.
struct Reach {
  long long world = 0;   // with shapes of the world
  long long bodies = 0;  // with shapes of other bodies
};

class ContactCompiler {
 public:
  explicit ContactCompiler(CompiledModel& model) : model_(model), a_(model.arrays) {}

  void run() {
    add_shape_contacts();
    add_neighbours();
    add_excludes();
    list_pairs();
    if (!a_.lists_pairs) count_by_classes();
    add_capacities();
    add_moments();
    add_surface_motions();
  }

 private:
  const SceneSpec& scene() const { return model_.welded.scene; }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void add_shape_contacts() {
    for (std::size_t i = 0; i < scene().shapes.size(); ++i) {
      const ShapeSpec& s = scene().shapes[i];
      a_.shape_contacts.push_back({s.friction, s.restitution, s.contact_stiffness, s.contact_damping, s.contact_type,
                                   s.contact_affinity, s.contact_dimension, s.contact_priority,
                                   model_.welded.shape_part[i] + 1});
    }
    reach_.resize(scene().shapes.size());
  }

  void add_neighbours() {
    std::vector<std::array<int, 2>> couples;
    for (const JointData<double>& joint : a_.joints) {
      if (scene().filter_parent_child && joint.parent >= 0) couples.push_back({joint.parent, joint.child});
    }
    make_lists(static_cast<int>(a_.bodies.size()), std::move(couples), a_.neighbour_start, a_.neighbours);
  }

  void add_excludes() {
    std::vector<std::array<int, 2>> couples;
    for (const ContactExcludeSpec& e : model_.welded.part_excludes) couples.push_back({e.body_a + 1, e.body_b + 1});
    make_lists(static_cast<int>(model_.welded.body_map.size()) + 1, std::move(couples), a_.exclude_start, a_.excludes);
  }

  // The list of pairs, if they are few.
  void list_pairs() {
    const ModelView<double> m = a_.view();
    std::map<std::pair<int, int>, const ContactPairSpec*> own;  // pairs with a law of their own
    std::vector<char> has_own(scene().shapes.size(), 0);
    for (const ContactPairSpec& pair : scene().contact_pairs) {
      own.emplace(std::minmax(pair.shape_a, pair.shape_b), &pair);
      has_own[at(pair.shape_a)] = has_own[at(pair.shape_b)] = 1;
    }
    const auto meets_none = [&](int i) {
      return a_.shape_contacts[at(i)].type == 0 && a_.shape_contacts[at(i)].affinity == 0 && has_own[at(i)] == 0;
    };
    std::vector<int> shapes;
    for (int i = 0; i < m.shape_count; ++i) {
      if (!meets_none(i)) shapes.push_back(i);
    }
    a_.lists_pairs = shapes.size() <= kMaxListingShapes ||
                     !own.empty();  // validate_scene bounds the shapes of a scene that has pairs
    for (std::size_t i = 0; i < shapes.size() && a_.lists_pairs; ++i) {
      stop_if_asked();
      for (std::size_t k = i + 1; k < shapes.size(); ++k) {
        const auto law = own.find({shapes[i], shapes[k]});
        if (law == own.end() && !may_touch(m, shapes[i], shapes[k])) continue;
        PairData<double> pair = combine_shapes(m, shapes[i], shapes[k]);
        if (law != own.end()) pair.friction = law->second->contact_dimension < 3 ? 0 : law->second->friction;
        add_pair(pair);
      }
      a_.lists_pairs = a_.pairs.size() <= kMaxListedPairs || !own.empty();
    }
    if (a_.lists_pairs) return;
    a_.pairs = {};
    reach_.assign(reach_.size(), {});
    all_ = 0;
  }

  void add_pair(const PairData<double>& pair) {
    a_.pairs.push_back(pair);
    all_ += pair.contact_max;
    if (a_.shapes[at(pair.shape_b)].body < 0) {
      reach_[at(pair.shape_a)].world += pair.contact_max;
    } else {
      reach_[at(pair.shape_a)].bodies += pair.contact_max;
      reach_[at(pair.shape_b)].bodies += pair.contact_max;
    }
  }

  // Shapes of one type, affinity and kind touch the same others. Neighbours and exclusions are counted, too, as they
  // are few; and where classes are many, so is everything: what is counted is no less than what can be.
  void count_by_classes() {
    std::map<std::tuple<std::uint32_t, std::uint32_t, ShapeKind>, int> index;
    std::vector<int> of(scene().shapes.size());
    for (std::size_t i = 0; i < of.size(); ++i) {
      const ShapeContactData& s = a_.shape_contacts[i];
      of[i] = index.try_emplace({s.type, s.affinity, a_.shapes[i].kind}, static_cast<int>(index.size())).first->second;
    }
    if (index.size() > kMaxClasses) {
      for (Reach& reach : reach_) reach = {kMany, kMany};
      all_ = kMany;
      return;
    }
    const std::size_t n = index.size();
    std::vector<long long> meet(n * n);  // contacts of a shape of either class
    for (const auto& [a, i] : index) {
      for (const auto& [b, k] : index) {
        const bool may = (std::get<0>(a) & std::get<1>(b)) != 0 || (std::get<0>(b) & std::get<1>(a)) != 0;
        meet[at(i) * n + at(k)] = may ? contact_max(std::get<2>(a), std::get<2>(b)) : 0;
      }
    }
    count_reach(of, meet, n);
  }

  void count_reach(const std::vector<int>& of, const std::vector<long long>& meet, std::size_t n) {
    // How many shapes of each class each body has; the world is the last.
    std::vector<std::map<int, long long>> counts(a_.bodies.size() + 1);
    const auto owner = [&](std::size_t i) { return a_.shapes[i].body < 0 ? a_.bodies.size() : at(a_.shapes[i].body); };
    for (std::size_t i = 0; i < of.size(); ++i) ++counts[owner(i)][of[i]];
    const auto contacts = [&](const std::map<int, long long>& shapes, int c) {
      long long sum = 0;
      for (const auto& [k, count] : shapes) sum += count * meet[at(c) * n + at(k)];
      return sum;
    };
    std::map<int, long long> moving;
    for (std::size_t b = 0; b < a_.bodies.size(); ++b) {
      for (const auto& [k, count] : counts[b]) moving[k] += count;
    }
    std::vector<Reach> all(n);
    for (std::size_t c = 0; c < n; ++c) {
      all[c] = {contacts(counts.back(), static_cast<int>(c)), contacts(moving, static_cast<int>(c))};
    }
    long long twice = 0;
    for (std::size_t b = 0; b < a_.bodies.size(); ++b) {
      std::map<int, long long> own;  // that a shape of the class would have with its own body
      for (const auto& entry : counts[b]) own[entry.first] = contacts(counts[b], entry.first);
      for (const auto& [c, count] : counts[b]) twice += count * (2 * all[at(c)].world + all[at(c)].bodies - own[c]);
      own_.push_back(std::move(own));
    }
    all_ = twice / 2;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (a_.shapes[i].body < 0) continue;
      const Reach& reach = all[at(of[i])];
      reach_[i] = {reach.world, reach.bodies - own_[owner(i)][of[i]]};
    }
  }

  // How many contacts a shape has, in the closest of packings that robots and piles come to.
  static long long usual_contacts(ShapeKind kind) {
    switch (kind) {
      case ShapeKind::kSphere:
      case ShapeKind::kEllipsoid:
        return 3;
      case ShapeKind::kCapsule:
        return 4;
      default:  // shapes that stand on faces
        return 8;
    }
  }

  // A world holds twelve contacts a body, or the usual ones of its shapes where they are more, and eight; for a few
  // things among many of the world, as a plate on pegs, all with the world up to kFewContacts. All that can be where
  // that is fewer. The deepest stay when more are found.
  void add_capacities() {
    const int body_count = static_cast<int>(a_.bodies.size());
    std::vector<long long> of_body(a_.bodies.size(), 0);
    long long with_world = 0;
    for (std::size_t i = 0; i < reach_.size(); ++i) {
      if (a_.shapes[i].body < 0) continue;
      of_body[at(a_.shapes[i].body)] += std::min(usual_contacts(a_.shapes[i].kind), reach_[i].world + reach_[i].bodies);
      with_world = std::min(with_world + reach_[i].world, kFewContacts);
    }
    long long usual = 8;
    for (long long contacts : of_body) usual += std::max(contacts, 12LL);
    const int capacity = static_cast<int>(std::min(all_, std::max(usual, with_world)));
    a_.contact_capacity = capacity;
    a_.candidate_capacity = static_cast<int>(std::min<long long>(all_, 16LL * capacity));
    const long long node_count =
        body_count + a_.loop_count + static_cast<long long>(a_.node_tendons.size());  // of the factorisation
    a_.coupling_capacity = static_cast<int>(std::min<long long>(node_count * (node_count - 1) / 2, 64LL * node_count));
  }

  // Torsional and rolling friction, and how many contacts may have any.
  void add_moments() {
    for (const ShapeSpec& s : scene().shapes) {
      a_.shape_moments.push_back({s.torsional_friction, s.rolling_friction, s.cone_dimension});
    }
    const auto acts = [](const MomentFriction<double>& f) { return f.torsional > 0 || f.rolling > 0; };
    long long contacts = 0;
    if (a_.lists_pairs) {
      std::map<std::pair<int, int>, const ContactPairSpec*> own;
      for (const ContactPairSpec& pair : scene().contact_pairs)
        own.emplace(std::minmax(pair.shape_a, pair.shape_b), &pair);
      const ModelView<double> m = a_.view();
      for (const PairData<double>& pair : a_.pairs) {
        const auto [a, b] = std::minmax(pair.shape_a, pair.shape_b);
        const auto law = own.find({a, b});
        MomentFriction<double> friction = combine_moments(m, a, b);
        if (law != own.end()) friction = moments_of(*law->second);
        a_.pair_moments.push_back(friction);
        if (acts(friction)) contacts += pair.contact_max;
      }
    } else {
      int dimension = 0;  // a pair may have the cone of one shape and a coefficient of the other
      MomentFriction<double> greatest{};
      for (const ShapeMomentData& s : a_.shape_moments) {
        dimension = std::max(dimension, s.cone_dimension);
        greatest = {std::max(greatest.torsional, s.torsional), std::max(greatest.rolling, s.rolling)};
      }
      if (dimension < 6) greatest.rolling = 0;
      if (dimension >= 4 && acts(greatest)) contacts = a_.contact_capacity;
    }
    a_.moment_capacity = static_cast<int>(std::min<long long>(contacts, a_.contact_capacity));
    if (a_.moment_capacity == 0) a_.shape_moments = {}, a_.pair_moments = {};
  }

  void add_surface_motions() {
    bool some_move = false;
    for (const ShapeSpec& s : scene().shapes) {
      a_.surface_motions.push_back({to_vec3(s.surface_velocity), to_vec3(s.surface_angular_velocity)});
      some_move = some_move || !(a_.surface_motions.back() == SurfaceMotion<double>{});
    }
    if (!some_move) a_.surface_motions = {};
  }

  static MomentFriction<double> moments_of(const ContactPairSpec& pair) {
    const bool none = pair.contact_dimension < 3;
    return {none || pair.cone_dimension < 4 ? 0 : pair.torsional_friction,
            none || pair.cone_dimension < 6 ? 0 : pair.rolling_friction};
  }

  static constexpr std::size_t kMaxClasses = 512;
  static constexpr long long kMany = std::numeric_limits<int>::max();
  static constexpr long long kFewContacts = 256;

  CompiledModel& model_;
  ModelArrays<double>& a_;
  std::vector<Reach> reach_;                   // [shape] of moving bodies
  std::vector<std::map<int, long long>> own_;  // [body][class]
  long long all_ = 0;                          // contacts of all pairs
};

}  // namespace

void add_contacts(CompiledModel& model) { ContactCompiler(model).run(); }

}  // namespace axion::model
