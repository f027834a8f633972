// This file describes the ONERA M6 half wing (Schmitt, Charpin, AGARD AR-138, 1979) in a half
// sphere of radius 15. Lengths are in meters. The span is along z. Make a mesh by
//   gmsh -3 -setnumber size 0.02 m6.geo -o m6.msh
// size: length of edges on the wing. Edges at the nose have a fifth of this length, edges at the
// tail a third.
// The trailing edge is closed: the section is changed behind 0.887 chords. The tip is half a body
// of revolution.
SetFactory("OpenCASCADE");
DefineConstant[ size = 0.03, threads = 2 ];
radius = 15;
span   = 1.1963;
root   = 0.8059;
nose   = Tan(30 * Pi / 180);   // tangent of the leading edge's sweep
tail   = Tan(15.8 * Pi / 180); // tangent of the trailing edge's sweep

// The section ONERA D, in chords.
x[] = {
  0.0, 0.0000165, 0.0000696, 0.0001675, 0.0003232, 0.0005508, 0.0008657, 0.0012868, 0.0018364, 0.0025441, 0.0034428, 0.0045704, 0.0059751, 0.0077112,
  0.0098413, 0.0124479, 0.0156171, 0.0194609, 0.0241067, 0.0297008, 0.0364261, 0.0444852, 0.0541248, 0.0656303, 0.0793366, 0.0956354, 0.1149796,
  0.1378963, 0.1649976, 0.1919327, 0.2187096, 0.245331, 0.2717978, 0.2981113, 0.3242726, 0.350283, 0.3761446, 0.4018567, 0.4274223, 0.4528441,
  0.4781197, 0.5032514, 0.5282426, 0.5530937, 0.5778043, 0.6023757, 0.6268104, 0.6511093, 0.6752726, 0.6993027, 0.7231995, 0.7469658, 0.7705998,
  0.7941055, 0.8174828, 0.8407324, 0.8638564, 0.8868235, 0.9061905, 0.9225336, 0.9363346, 0.9479946, 0.9578511, 0.966186, 0.9732361, 0.979202,
  0.9842508, 0.9885252, 0.9921438, 0.995208, 0.997803, 1.0
};
y[] = {
  0.0, 0.0006914, 0.0014416, 0.0022554, 0.0031382, 0.0040959, 0.0051343, 0.0062598, 0.0074784, 0.0087958, 0.0102163, 0.0117419, 0.0133708, 0.0150951,
  0.0168984, 0.0187537, 0.020622, 0.0224545, 0.0242004, 0.0258245, 0.0273317, 0.0287912, 0.0303278, 0.0320138, 0.0338372, 0.0357742, 0.0377923,
  0.0398522, 0.0419089, 0.0436214, 0.0450507, 0.0462358, 0.0471987, 0.0479494, 0.0484902, 0.0488183, 0.0489296, 0.0488202, 0.0484833, 0.0479351,
  0.0471661, 0.0461903, 0.0450209, 0.0436741, 0.0421684, 0.0405241, 0.0387613, 0.036899, 0.0349542, 0.0329402, 0.0308662, 0.0287365, 0.0265505,
  0.0243027, 0.0219842, 0.0195838, 0.0170915, 0.0145051, 0.0122389, 0.0102727, 0.0085827, 0.0071423, 0.0059224, 0.0048907, 0.004018, 0.0032796,
  0.0026547, 0.0021257, 0.0016778, 0.0012985, 0.0009773, 0.0007052
};
n = #x[];

For section In {0 : 1}
  z     = section * span;
  chord = root + z * (tail - nose);
  upper[] = {};
  lower[] = {};
  For k In {0 : n - 1}
    thick = y[k];
    If (x[k] > 0.8868)
      thick = y[k] - y[n - 1] * (x[k] - 0.8868235) / (1 - 0.8868235);
    EndIf
    upper[k] = newp; Point(upper[k]) = {z * nose + chord * x[k], chord * thick, z};
    lower[k] = upper[k];
    If (k > 0 && k < n - 1)
      lower[k] = newp; Point(lower[k]) = {z * nose + chord * x[k], -chord * thick, z};
    EndIf
  EndFor
  Spline(10 * section + 1) = upper[];
  Spline(10 * section + 2) = lower[];
  Line(10 * section + 3)   = {upper[n - 1], upper[0]};
  Curve Loop(10 * section + 1) = {10 * section + 1, -(10 * section + 2)};
EndFor
Ruled ThruSections(1) = {1, 11};

Curve Loop(20)    = {11, 13};
Plane Surface(20) = {20};
tip[] = Extrude { {1, 0, 0}, {span * nose, 0, span}, Pi } { Surface{20}; };
wing[] = BooleanUnion{ Volume{1}; Delete; }{ Volume{tip[1]}; Delete; };
Sphere(100) = {0.5, 0, 0, radius, 0, Pi / 2, 2 * Pi};
fluid[] = BooleanDifference{ Volume{100}; Delete; }{ Volume{wing[]}; Delete; };

near = 1e-4;
symmetry[] = Surface In BoundingBox{-radius, -2 * radius, -near, 2 * radius, 2 * radius, near};
wall[]     = Surface In BoundingBox{-near, -0.1, -near, 1.3, 0.1, span + 0.1};
all[]      = Boundary{ Volume{fluid[]}; };
farfield[] = all[];
farfield[] -= symmetry[];
farfield[] -= wall[];
Physical Surface("wall", 1)     = wall[];
Physical Surface("farfield", 2) = farfield[];
Physical Surface("symmetry", 3) = symmetry[];
Physical Volume("fluid", 10)    = fluid[];
Printf("wall %g, far field %g, symmetry %g surfaces, volumes %g", #wall[], #farfield[], #symmetry[], #fluid[]);

// Edges grow with the distance from the planform, and with the distance from the leading and
// trailing edges of the wing.
line[] = {nose, 0, tail, root};
For edge In {0 : 1}
  Field[1 + edge]   = MathEval;
  slope = line[2 * edge];
  Field[1 + edge].F = Sprintf("%g + 0.2 * Sqrt((x - %g - %g * Min(z, %g))^2 * %g + y^2 + Max(z - %g, 0)^2)", size / (5 - 2 * edge), line[2 * edge + 1], slope, span, 1 / (1 + slope^2), span);
EndFor
Field[3]   = MathEval;
Field[3].F = Sprintf("%g + 0.2 * Sqrt(Max(Max(%g * z - x, x - %g - %g * z), 0)^2 + Max(Abs(y) - 0.04, 0)^2 + Max(z - %g, 0)^2)", size, nose, root, tail, span);
Field[4]            = Min;
Field[4].FieldsList = {1, 2, 3};
Background Field    = 4;
Mesh.MeshSizeExtendFromBoundary = 0;
Mesh.MeshSizeFromPoints         = 0;
Mesh.MshFileVersion = 2.2;
Mesh.Algorithm      = 6;
