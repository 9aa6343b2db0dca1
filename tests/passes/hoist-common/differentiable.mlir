// adc opt --passes=hoist-common{differentiable=true}
// Before differentiation loads move, so that what is added to the shadow of %x is not in a branch; roots and stores stay.

func.func @f(%x: memref<?xf64>, %z: memref<?xf64>, %i: index, %v: f64, %which: i1) -> f64 {
  %y = scf.if %which -> (f64) {
    %a = memref.load %x[%i] : memref<?xf64>
    %r = math.sqrt %v : f64
    memref.store %v, %z[%i] : memref<?xf64>
    %b = arith.mulf %a, %r : f64
    scf.yield %b : f64
  } else {
    %c = memref.load %x[%i] : memref<?xf64>
    %s = math.sqrt %v : f64
    memref.store %v, %z[%i] : memref<?xf64>
    %d = arith.addf %c, %s : f64
    scf.yield %d : f64
  }
  func.return %y : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %z: memref<?xf64>, %i: index, %v: f64, %which: i1) -> f64 {
  %a = memref.load %x[%i] : memref<?xf64>
  %y = scf.if %which -> (f64) {
    %r = math.sqrt %v : f64
    memref.store %v, %z[%i] : memref<?xf64>
    %b = arith.mulf %a, %r : f64
    scf.yield %b : f64
  } else {
    %s = math.sqrt %v : f64
    memref.store %v, %z[%i] : memref<?xf64>
    %d = arith.addf %a, %s : f64
    scf.yield %d : f64
  }
  func.return %y : f64
}
