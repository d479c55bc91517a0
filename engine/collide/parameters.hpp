// The numbers that the search for contacts goes by, each with its unit and what it does. Lengths are shares of the
// shapes' own wherever no unit is named. Found by experiment unless a line says why; none is tuned to a scene.
#pragma once

namespace axion::collide {

// Rounds of searches at most, and where they end.
struct SearchParameters {
  // Of the search for nearest points (gjk.hpp), and for the portal (portal.hpp).
  static constexpr int kGjkRounds = 40, kPortalRounds = 32;
  // Rays that a way out is followed down, and ways out that are followed where the overlap is deep.
  static constexpr int kPortalRays = 4, kWaysOut = 6;
  // Of the way of a pair through a step (way_of_pair.hpp).
  static constexpr int kWayRounds = 64;
  // Of the pair's extent: where nearest points and portals have converged, in float32 and float64; tolerances of
  // portals in float32 are multiples of its rounding.
  static constexpr double kNearestSingle = 2e-6, kNearestDouble = 1e-11, kPortalDouble = 1e-9;
  static constexpr int kPortalRoundings = 8;
  // m: below this length the square underflows or loses digits, and a vector gives no direction.
  static constexpr double kTinySingle = 1e-16, kTinyDouble = 1e-140;
};

// The way out of an overlap (portal.hpp). Of the pair's extent, but for the cosine.
struct PortalParameters {
  // Distance of the centres below which the first ray has no direction of its own; depth that needs no further ray.
  static constexpr double kLeastRay = 1e-5, kEnough = 1e-3;
  // Of the depth: a ray that leaves more of it is the last.
  static constexpr double kSettled = 0.999;
  // Cosine of the angle between two ways out, above which they lead to one face.
  static constexpr double kSameWay = 0.85;
};

// Two boxes (box_axes.hpp, box_face.hpp, box_pairs.hpp).
struct BoxParameters {
  // Of the least half size: by so much more an axis of edges has to part the boxes than one of faces, which a pair at
  // rest keeps therefore; four times as much where they are apart, and this share of the separation.
  static constexpr double kBias = 1e-4, kApart = 1.001;
  static constexpr int kApartBiases = 4;
  // Sine of the angle of two edges below which their perpendicular is too uncertain to be of use.
  static constexpr double kLeastSineSingle = 3e-3, kLeastSineDouble = 1e-5;
  // Of the least half size of two faces: points nearer to each other are one; a tenth of it is how far outside a side
  // of the reference face a point is still on it.
  static constexpr double kMerge = 1e-3, kClipSlack = 0.1;
  // Cosines: within 8 degrees directions of vertices are one; within 1.8 the face's normal and the edges'.
  static constexpr double kSameVertex = 0.99, kSameAxis = 0.9995;
};

// Capsules (capsule_pairs.hpp, capsule_box.hpp).
struct CapsuleParameters {
  // Sines: two axes that cross at less have no perpendicular; axes of less than the second squared lie along each
  // other.
  static constexpr double kLeastSine = 1e-3, kParallelSquared = 1e-4;
  // Sine of the angle of an axis to a face of a box, up to which it lies along the face.
  static constexpr double kAlongFace = 0.1;
  // Of the half length: an overlap of two segments that is shorter is one point.
  static constexpr double kShort = 1e-2;
  // Of the radii: two points replace the nearest one where they are as near to this.
  static constexpr double kAsNear = 1e-4;
  // Of the radius: by so much more an edge has to part a capsule and a box than a face.
  static constexpr double kEdgeBias = 1e-3;
  // Of the reach: pairs that are farther apart end early, with some room for rounding.
  static constexpr double kFar = 1.001;
};

// Pairs of convex shapes by the search (convex_pairs.hpp, convex_face.hpp, convex_shape.hpp, convex_plane.hpp).
struct ConvexParameters {
  // Of the lesser shape's least size: cores that overlap by more are deep in each other.
  static constexpr double kDeepShare = 0.05;
  // Of that depth: a way out has to be shorter by so much to replace the portal's; of the extent: how far cores are
  // parted to find their points across from each other.
  static constexpr double kSpare = 0.02, kParted = 0.02;
  // Sine of the angle of two axes below which they have no perpendicular.
  static constexpr double kLeastSine = 1e-3;
  // Cosines of the angle between two directions, below which they are not blended: that of two points that nearly touch
  // with the way out; two ways out.
  static constexpr double kFaceBeside = 0.1, kWayBeside = -0.1;
  // Of the lesser shape's least size, and multiples of the rounding of the extent: nearer than the greater of both,
  // rounding turns the direction of two points, and that of a face is blended in; points as near are one.
  static constexpr double kNear = 1e-3;
  static constexpr int kBlurRoundings = 2000;
  // Of the extent, and multiples of its rounding: a gain of separation that counts as little; that share of it is none.
  static constexpr double kLittle = 1e-6, kNoGain = 0.1;
  static constexpr int kLittleRoundings = 64;
  // Of a cylinder's least size: the skin by which it shrinks; of `near`: what a rim adds to its separation by that.
  static constexpr double kSkin = 0.1, kRim = 0.1;
  // Sine of the angle up to which two lines lie side by side: 2 degrees.
  static constexpr double kSideBySide = 0.035;
  // Of the distance at which points are one: the width of a face that is a line, and how far outside an edge a point is
  // still on it.
  static constexpr double kSliver = 1e-4, kClipSlack = 0.1;
  // Least inclination, against the normal, of the directions along which a hull's polygon is looked for.
  static constexpr double kLeastInclination = 0.03;
  // Cosine of the angle of a capsule's axis to the direction of contact, up to which its side is a polygon.
  static constexpr double kLying = 0.7;
  // A corner is left out for another where its triangle is smaller by this factor: nearly equal ones count as equal.
  static constexpr double kSmaller = 0.99;
  // Of the squared least over the greatest half axis of an ellipsoid, times that half axis: radius of its core's ball.
  static constexpr double kEllipsoidBall = 0.75;
  // Sine of the angle of a cylinder's axis to a plane's normal, below which it stands.
  static constexpr double kStanding = 1e-3;
};

// Height fields (height_field_contacts.hpp, height_field_edges.hpp, height_field_set.hpp).
struct HeightFieldParameters {
  // Of a cell: how far beyond the edge of a face points may be; of a cell or the reach: contacts as near are one.
  static constexpr double kColumnSlack = 1e-3, kSame = 1e-3;
  // Sine of the angle by which a direction may be out of the cone of an edge: of round shapes, and of shapes whose
  // directions are the normals of their faces.
  static constexpr double kRoundSlack = 1e-4, kFacedSlack = 0.02;
  // Sine of the bend of an edge that counts as convex; below is rounding of heights.
  static constexpr double kLeastBend = 1e-5;
  // Of an edge: nearer to its end a contact is with the vertex.
  static constexpr double kEnd = 1e-3;
  // Of its least size: the ball about a round shape's centre, which finds it where all of its surface is below.
  static constexpr double kBall = 0.9;
  // Of the distance at which contacts are one: a contact replaces another where it is deeper by more; of a score: one
  // that is chosen before another; cosine of the angle up to which normals are one.
  static constexpr double kDeeper = 0.1, kBetter = 1.01, kSameNormal = 0.9999;
};

// Contacts with several shapes of the world that make one surface (one_surface.hpp).
struct SurfaceParameters {
  // m: what is nearer to a surface than this is at it. Shapes that rest sag by some micrometres, and tiles are as level
  // as they are laid; what stands out by five times as much is a lip. Of small shapes that share of the lesser bounding
  // radius.
  static constexpr double kSlop = 1e-4, kSlopShare = 0.01;
  // Sine of the angle to a surface that goes on, above which a direction is in front of it.
  static constexpr double kLevel = 0.003;
  // Slops: what reaches as far out of a surface stands on it, and is not hidden by it.
  static constexpr double kStands = 4;
};

// Reviews of a step's contacts once it is solved (review_contacts.hpp, way_of_pair.hpp).
struct ReviewParameters {
  // Reviews after which a step is solved again, at most; and from which on every candidate becomes a contact, as far as
  // there is room.
  static constexpr int kReviews = 8, kFirstOfAll = 3;
  // Of the margin: overlap that turning may cause without being looked for, and that it may add beside contacts.
  static constexpr double kTurnedDepth = 0.1, kFurtherDepth = 0.5;
  // Of two shapes' half sizes: overlap of a pair that lets one through.
  static constexpr double kThroughShare = 0.6;
  // Slops: by more a result that has converged breaks no contact.
  static constexpr double kBrokenSlops = 10;
  // Of its bounding radius: a shape that moves further may overlap by what its gaps do not say.
  static constexpr double kSlidShare = 0.5;
  // Cosine of the angle between a contact's normal and that of the meeting, below which it stands in no way.
  static constexpr double kSameNormal = 0.9;
};

// The grid of the broad phase (shape_grid.hpp).
struct GridParameters {
  // m: the least side of a box, as a point has a cell, too.
  static constexpr double kLeastSide = 1e-30;
  // Of its size: what a box is wider by, for rounding.
  static constexpr double kBoxSlack = 1e-4;
  // Sides of a cell that a box may begin before another: one, and two hundredths for rounding of places.
  static constexpr double kBack = 1.02;
};

}  // namespace axion::collide
