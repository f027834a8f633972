// This file describes a flat plate along the x axis, from x = 0 on, for viscous flows. The lower
// boundary ahead of the plate and behind it is a plane of symmetry, and all others are the far
// field. Make a mesh by
//   gmsh -2 -setnumber along 64 plate.geo -o plate.msh
// along: number of edges on the plate. Half as many lie ahead of it, and a third behind it.
// across: number of layers above it.
// first: height of the first layer.
// nose: length of the edges at the plate's leading edge.
// length: of the plate. Friction rises towards the end of a plate. To compare with Blasius at
//   x = 1, make the plate longer.
// height, ahead, behind: size of the mesh above, ahead of and behind the plate.
DefineConstant[ along = 64, across = 64, first = 7e-4, nose = 2e-3, length = 1 ];
DefineConstant[ height = 5, ahead = 5, behind = 5 ];

// Sets grown to the factor from one edge to the next. The `count` edges, the first of length
// `least`, add up to `sum`. Newton's method finds the factor.
Macro FindGrowth
  grown = (sum / least)^(1 / count);
  For k In {1 : 100}
    value = least * (grown^count - 1) - sum * (grown - 1);
    slope = least * count * grown^(count - 1) - sum;
    grown = grown - value / slope;
  EndFor
Return

Point(1) = {-ahead, 0, 0};
Point(2) = {0, 0, 0};
Point(3) = {length, 0, 0};
Point(4) = {length + behind, 0, 0};
Point(5) = {-ahead, height, 0};
Point(6) = {0, height, 0};
Point(7) = {length, height, 0};
Point(8) = {length + behind, height, 0};
For k In {1 : 4}
  Line(k) = {k, k + 4}; // upwards
EndFor
Line(11) = {2, 1};
Line(12) = {2, 3};
Line(13) = {3, 4};
Line(21) = {6, 5};
Line(22) = {6, 7};
Line(23) = {7, 8};
Curve Loop(1) = {-11, 2, 21, -1};
Curve Loop(2) = {12, 3, -22, -2};
Curve Loop(3) = {13, 4, -23, -3};
Plane Surface(1) = {1};
Plane Surface(2) = {2};
Plane Surface(3) = {3};

least = nose; sum = ahead; count = Ceil(along / 2);
Call FindGrowth;
Transfinite Curve {11, 21} = count + 1 Using Progression grown;
least = nose; sum = length; count = along;
Call FindGrowth;
Transfinite Curve {12, 22} = count + 1 Using Progression grown;
least = nose * grown^(along - 1); sum = behind; count = Ceil(along / 3);
Call FindGrowth;
Transfinite Curve {13, 23} = count + 1 Using Progression grown;
least = first; sum = height; count = across;
Call FindGrowth;
Transfinite Curve {1, 2, 3, 4} = count + 1 Using Progression grown;
Transfinite Surface {1, 2, 3};
Recombine Surface {1, 2, 3};

Physical Curve("wall", 1)     = {12};
Physical Curve("farfield", 2) = {1, 4, 21, 22, 23};
Physical Curve("symmetry", 3) = {11, 13};
Physical Surface("fluid", 10) = {1, 2, 3};
Mesh.MshFileVersion = 2.2;
