// adc opt --passes=hoist-common
// What both branches compute is computed in front of them.

func.func @f(%x: memref<?xf64>, %i: index, %which: i1) -> f64 {
  %y = scf.if %which -> (f64) {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = math.sin %a : f64
    scf.yield %b : f64
  } else {
    %c = memref.load %x[%i] : memref<?xf64>
    %d = math.cos %c : f64
    scf.yield %d : f64
  }
  func.return %y : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %i: index, %which: i1) -> f64 {
  %a = memref.load %x[%i] : memref<?xf64>
  %y = scf.if %which -> (f64) {
    %b = math.sin %a : f64
    scf.yield %b : f64
  } else {
    %d = math.cos %a : f64
    scf.yield %d : f64
  }
  func.return %y : f64
}
