// This file describes the NACA 0012 airfoil with a closed trailing edge and chord 1. The far field
// is a circle of radius 50, unless radius is set. Make a mesh by
//   gmsh -2 -setnumber size 0.01 naca0012.geo -o naca0012.msh
// size: length of edges on the airfoil. Edges at the nose and at the tail have a third of
//   this length.
// span: 0 for two dimensions. Otherwise the width of one layer of prisms; use gmsh -3, not -2.
// symmetric: 1 for a mesh of quadrilaterals that is its own mirror image (in two dimensions).
// layers: number of layers of cells around the airfoil; 0: none. Their heights grow from first to
//   about half of an edge.
// quads: 1 for layers of quadrilaterals (hexahedra if there is a span), 0 for layers of triangles
//   (prisms if there is a span).
// first: height of the first layer.
// wake: length of edges behind the airfoil, to x = 4, for viscous flows; 0: as elsewhere.
DefineConstant[ size = 0.02, span = 0, symmetric = 0, layers = 0, quads = 1, first = 5e-6, radius = 50 ];
DefineConstant[ wake = 0 ];
half   = Ceil(1.6 / size);

For k In {0 : half}
  beta = Pi * k / half;
  x    = 0.5 * (1 + Cos(beta)); // from tail to nose, with more points at both ends
  y    = 0.6 * (0.2969 * Sqrt(Fabs(x)) - 0.1260 * x - 0.3516 * x^2 + 0.2843 * x^3 - 0.1036 * x^4);
  near = size * (0.35 + 0.65 * Sin(beta));
  If (k == 0 || k == half)
    y = 0;
  EndIf
  Point(k + 1) = {x, y, 0, near};
  If (k > 0 && k < half)
    Point(2 * half + 1 - k) = {x, -y, 0, near};
  EndIf
EndFor
For k In {1 : half}
  upper[k - 1] = k;
  lower[k - 1] = half + k;
EndFor
upper[half] = half + 1;
lower[half] = 1;
Spline(1) = upper[];
If (symmetric > 0)
  // The lower side is drawn as the mirror image of the upper side, from tail to nose. Its vertices
  // are then mirror images, too.
  For k In {0 : half}
    mirrored[k] = lower[half - k];
  EndFor
  Spline(2) = mirrored[];
Else
  Spline(2) = lower[];
EndIf

center = newp; Point(center) = {0.5, 0, 0, 1};
east   = newp; Point(east) = {0.5 + radius, 0, 0, radius / 8};
north  = newp; Point(north) = {0.5, radius, 0, radius / 8};
west   = newp; Point(west) = {0.5 - radius, 0, 0, radius / 8};
south  = newp; Point(south) = {0.5, -radius, 0, radius / 8};
Circle(11) = {east, center, north};
Circle(12) = {north, center, west};
Circle(13) = {west, center, south};
Circle(14) = {south, center, east};

inside[] = {1};
If (symmetric > 0)
  around = 2 * Ceil(0.8 / size);
  grown  = 1.1; // factor by which cells grow outwards, from one cell to the next
  Line(21) = {half + 1, west}; // ahead of the nose
  Line(22) = {1, east};        // behind the tail
  Curve Loop(1) = {22, 11, 12, -21, -1};
  Curve Loop(2) = {22, -14, -13, -21, -2};
  Plane Surface(1) = {1};
  Plane Surface(2) = {2};
  Transfinite Curve {1, 2}           = around + 1 Using Bump 0.3;
  Transfinite Curve {11, 12, 13, 14} = around / 2 + 1;
  Transfinite Curve {21, 22}         = Ceil(Log(1 + (grown - 1) * radius / size) / Log(grown)) Using Progression grown;
  Transfinite Surface {1} = {1, east, west, half + 1};
  Transfinite Surface {2} = {1, east, west, half + 1};
  inside[] = {1, 2};
  Recombine Surface {1, 2};
Else
  Curve Loop(1) = {11, 12, 13, 14};
  Curve Loop(2) = {1, 2};
  Plane Surface(1) = {1, 2};
EndIf
If (span > 0)
  // sides: the top surface, the volume, then a surface for each curve in the order of the loops
  sides[] = Extrude {0, 0, span} { Surface{1}; Layers{1}; Recombine; };
  Physical Surface("farfield", 2) = {sides[2], sides[3], sides[4], sides[5]};
  Physical Surface("wall", 1)     = {sides[6], sides[7]};
  Physical Surface("symmetry", 3) = {1, sides[0]};
  Physical Volume("fluid", 10)    = {sides[1]};
Else
  Physical Curve("wall", 1)     = {1, 2};
  Physical Curve("farfield", 2) = {11, 12, 13, 14};
  Physical Surface("fluid", 10) = inside[];
EndIf

// Edges near the airfoil grow slowly with the distance from it.
Field[1]            = Distance;
Field[1].CurvesList = {1, 2};
Field[1].NumPointsPerCurve = 400;
Field[2]            = MathEval;
Field[2].F          = Sprintf("%g + 0.12 * F1", size);
Background Field    = 2;
If (wake > 0)
  // Edges grow around the wake as they grow around the airfoil.
  Point(newp) = {1, 0, 0, size};
  Point(newp) = {4, 0, 0, size};
  behind             = newl; Line(behind) = {newp - 2, newp - 1};
  Field[4]            = Distance;
  Field[4].CurvesList = {behind};
  Field[4].NumPointsPerCurve = 400;
  Field[5]            = MathEval;
  Field[5].F          = Sprintf("%g + 0.12 * F4", wake);
  Field[6]            = Min;
  Field[6].FieldsList = {2, 5};
  Background Field    = 6;
EndIf
If (layers > 0)
  ratio                  = (0.4 * size / first)^(1 / (layers - 1));
  Field[3]               = BoundaryLayer;
  Field[3].CurvesList    = {1, 2};
  Field[3].FanPointsList = {1};
  Field[3].Quads         = quads;
  Field[3].Size          = first;
  Field[3].Ratio         = ratio;
  Field[3].Thickness     = first * (ratio^layers - 1) / (ratio - 1);
  BoundaryLayer Field    = 3;
EndIf
// The tolerance is relative to the size of the whole geometry. Points of thin layers must not count
// as the same.
Geometry.Tolerance = 1e-12;
Mesh.MshFileVersion = 2.2;
Mesh.Algorithm      = 6;
