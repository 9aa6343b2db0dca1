// adc opt --passes=uplift-whiles,tidy
// A pointer that goes on from row to row: what is left in it is the greater of where it was and where the row ends.

func.func @f(%x: memref<?xf64>, %ends: memref<?xindex>, %n: index) -> (f64, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s, %e = scf.for %i = %c0 to %n step %c1 iter_args(%s_0 = %zero, %e_0 = %c0) -> (f64, index) {
    %end = memref.load %ends[%i] : memref<?xindex>
    %t, %e_1 = scf.while (%t_0 = %s_0, %e_2 = %e_0) : (f64, index) -> (f64, index) {
      %more = arith.cmpi slt, %e_2, %end : index
      scf.condition(%more) %t_0, %e_2 : f64, index
    } do {
    ^bb0(%t_1: f64, %e_3: index):
      %a = memref.load %x[%e_3] : memref<?xf64>
      %t_2 = arith.addf %t_1, %a : f64
      %e_4 = arith.addi %e_3, %c1 : index
      scf.yield %t_2, %e_4 : f64, index
    }
    scf.yield %t, %e_1 : f64, index
  }
  func.return %s, %e : f64, index
}

// becomes
func.func @f(%x: memref<?xf64>, %ends: memref<?xindex>, %n: index) -> (f64, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s, %e = scf.for %i = %c0 to %n step %c1 iter_args(%s_0 = %zero, %e_0 = %c0) -> (f64, index) {
    %end = memref.load %ends[%i] : memref<?xindex>
    %e_1 = arith.maxsi %end, %e_0 : index
    %t = scf.for %e_2 = %e_0 to %end step %c1 iter_args(%t_0 = %s_0) -> (f64) {
      %a = memref.load %x[%e_2] : memref<?xf64>
      %t_2 = arith.addf %t_0, %a : f64
      scf.yield %t_2 : f64
    }
    scf.yield %t, %e_1 : f64, index
  }
  func.return %s, %e : f64, index
}
